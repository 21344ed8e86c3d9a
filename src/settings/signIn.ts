import { hash } from 'node:crypto'
import { Router } from '@koa/router'
import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from 'jose'
import { z } from 'zod'
import { type Config, latest } from '../core/config/config.ts'
import { parameterOf } from '../core/http/query.ts'
import type { TeamId } from '../core/model/ids.ts'
import { identifier } from '../core/model/schema.ts'
import { fromRedis, type RedisConnection } from '../core/redis/redis.ts'
import { settingsError } from './errors.ts'
import { messagePage } from './pages/parts.ts'
import { respondWithPage, type SettingsState, seeOther } from './respond.ts'
import type { Owner, Sessions } from './sessions.ts'

/** The product sends an owner to `/sign-in?token=…`, with a token (JWT) that names team and person. A token signs in once. */
export const signInRoutes = (
  verifyToken: VerifyToken,
  consumeToken: ConsumeToken,
  sessions: Sessions,
): Router<SettingsState, object> =>
  new Router<SettingsState, object>({ sensitive: true })
    .get('/sign-in', async (ctx) => {
      // A link preview (HEAD) must not consume the token.
      if (ctx.method === 'HEAD') throw settingsError('method-not-allowed', { headers: { Allow: 'GET' } })
      // No `Referer` may reveal the secret in this URL.
      ctx.set('Referrer-Policy', 'no-referrer')
      const { owner, tokenId } = await verifyToken(parameterOf(ctx, 'token') ?? '')
      if (!(await consumeToken(tokenId))) throw settingsError('link-used')
      await sessions.start(ctx, owner)
      seeOther(ctx, '/keys')
    })
    .post(
      '/sign-out',
      sessions.forOwner(async (ctx, session) => {
        await sessions.end(ctx, session)
        seeOther(ctx, '/signed-out')
      }),
    )
    .get('/signed-out', (ctx) => respondWithPage(ctx, 200, messagePage(ctx.state.messages.signedOut)))

/** Between the clocks of the product and of this process. */
const toleranceSeconds = 5
const maxLifeSeconds = 300
/** Longer than any process accepts a token, even with a wrong clock. */
const usedForMs = 2 * maxLifeSeconds * 1_000

/** Resolves with false if the token was used before. */
type ConsumeToken = (tokenId: string) => Promise<boolean>

export const usedTokens =
  ({ client, keys }: RedisConnection): ConsumeToken =>
  async (tokenId) => {
    const key = keys.usedSignIn(hash('sha256', tokenId))
    return (await fromRedis(client.set(key, '1', 'PX', usedForMs, 'NX'))) === 'OK'
  }

type SignInConfig = Pick<Config, 'files' | Extract<keyof Config, `SIGN_IN_${string}`>>

/** Of the owner's name (`sub`) and the token's id (`jti`). */
const maxCharacters = 200
/** For the product's public keys. */
const fetchTimeoutMs = 3_000
/** Two lists, so that nobody can sign a token with a public key as if it were the shared secret. */
const secretAlgorithms = ['HS256']
const publicKeyAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

const claimsSchema = z.object({
  sub: z
    .string()
    .refine((text) => text.trim() !== '' && [...text].length <= maxCharacters)
    .transform((text) => text.toWellFormed()),
  team: identifier.transform((text) => text as TeamId),
  role: z.string(),
  exp: z.number(),
  jti: z.string().min(1).max(maxCharacters),
})

/** Rejects with the error `link-expired`, `link-not-valid`, `not-owner` or `unavailable`. */
type VerifyToken = (token: string) => Promise<{ readonly owner: Owner; readonly tokenId: string }>

export function tokenVerifier(config: SignInConfig, nowMs: () => number): VerifyToken {
  const { SIGN_IN_JWKS_URL: url, SIGN_IN_ISSUER: issuer = '' } = config
  const key: JWTVerifyGetKey =
    url === undefined
      ? async () => new TextEncoder().encode(latest(config).SIGN_IN_SECRET)
      : createRemoteJWKSet(new URL(url), { timeoutDuration: fetchTimeoutMs })
  const rules = {
    issuer,
    audience: config.SIGN_IN_AUDIENCE,
    algorithms: url === undefined ? secretAlgorithms : publicKeyAlgorithms,
    clockTolerance: toleranceSeconds,
    requiredClaims: Object.keys(claimsSchema.shape),
  }
  return async (token) => {
    const now = nowMs()
    const { payload } = await jwtVerify(token, key, { ...rules, currentDate: new Date(now) }).catch(throwSettingsError)
    const claims = claimsSchema.safeParse(payload)
    if (!claims.success) throw settingsError('link-not-valid')
    const { sub, team, role, exp, jti } = claims.data
    const latestExpiryMs = now + (maxLifeSeconds + toleranceSeconds) * 1_000
    if (exp * 1_000 > latestExpiryMs) throw settingsError('link-not-valid')
    if (role !== 'owner') throw settingsError('not-owner')
    return { owner: { team, sub }, tokenId: jti }
  }
}

function throwSettingsError(error: Error): never {
  if (error instanceof errors.JWTExpired) throw settingsError('link-expired')
  const isKeySetMissing = error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid
  if (error instanceof errors.JOSEError && !isKeySetMissing && error.code !== 'ERR_JOSE_GENERIC')
    throw settingsError('link-not-valid')
  const cause = new Error(`the keys of SIGN_IN_JWKS_URL could not be fetched: ${error.message}`)
  throw settingsError('unavailable', { cause })
}
