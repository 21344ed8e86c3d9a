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
import type { Sessions } from './sessions.ts'

/** Signing in with a link from the product, and signing out. */
export const signInRoutes = (
  verifyToken: ReturnType<typeof tokenVerifier>,
  consumeToken: ReturnType<typeof usedTokens>,
  sessions: Sessions,
): Router<SettingsState, object> =>
  new Router<SettingsState, object>({ sensitive: true })
    .get('/sign-in', async (ctx) => {
      // A link preview (HEAD) must not consume the token.
      if (ctx.method === 'HEAD') throw settingsError('method-not-allowed', { headers: { Allow: 'GET' } })
      // This URL holds a secret. Its pages have no forms, which would be sent with `Origin: null` under this policy.
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
    .get('/signed-out', (ctx) => respondWithPage(ctx, 200, messagePage(ctx.state.say.signedOut)))

const toleranceSeconds = 5
const maxLifeSeconds = 300
/** Longer than any process takes a token for valid, whatever its clock says and however long it waits for the product's public keys. */
const usedForMs = 2 * maxLifeSeconds * 1_000

/**
 * Keeps used tokens in Redis until they have expired for good, so that each signs in once. The returned function marks a token as used, and
 * resolves to false if it was used before.
 */
export const usedTokens =
  ({ client, keys }: RedisConnection) =>
  async (tokenId: string): Promise<boolean> => {
    const key = keys.usedSignIn(hash('sha256', tokenId))
    return (await fromRedis(client.set(key, '1', 'PX', usedForMs, 'NX'))) === 'OK'
  }

type SignInConfig = Pick<Config, 'files' | Extract<keyof Config, `SIGN_IN_${string}`>>

/** Of an owner's name, and of the id of a token. */
const maxCharacters = 200
const fetchTimeoutMs = 3_000
/** Against algorithm confusion: a public key is never tried as a shared secret, nor a secret as a public key. */
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

/** Verifies signature, claims and lifetime of the product's tokens. Rejects with `link-expired`, `link-not-valid` or `not-owner`. */
export function tokenVerifier(config: SignInConfig, nowMs: () => number) {
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
  return async (token: string) => {
    const now = nowMs()
    const { payload } = await jwtVerify(token, key, { ...rules, currentDate: new Date(now) }).catch(throwSettingsError)
    const claims = claimsSchema.safeParse(payload)
    if (!claims.success) throw settingsError('link-not-valid')
    const { sub, team, role, exp, jti } = claims.data
    if (exp * 1_000 > now + (maxLifeSeconds + toleranceSeconds) * 1_000) throw settingsError('link-not-valid')
    if (role !== 'owner') throw settingsError('not-owner')
    return { owner: { team, sub }, tokenId: jti }
  }
}

/** Throws `unavailable` when the product's public keys, and not the token, are the reason. */
function throwSettingsError(error: Error): never {
  if (error instanceof errors.JWTExpired) throw settingsError('link-expired')
  const isKeySetMissing = error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid
  if (error instanceof errors.JOSEError && !isKeySetMissing && error.code !== 'ERR_JOSE_GENERIC')
    throw settingsError('link-not-valid')
  const cause = new Error(`the keys of SIGN_IN_JWKS_URL could not be fetched: ${error.message}`)
  throw settingsError('unavailable', { cause })
}
