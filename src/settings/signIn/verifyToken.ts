import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { z } from 'zod'
import type { TeamId } from '../../core/model/ids.ts'
import { identifier } from '../../core/model/schema.ts'
import type { Config } from '../../core/process/config.ts'
import { settingsError } from '../errors.ts'
import type { Owner } from '../sessions.ts'

type VerifiedToken = { readonly owner: Owner; readonly tokenId: string; readonly usableUntilMs: number }

/** Throws `link-expired`, `link-not-valid` or `not-owner` for a token that signs nobody in. */
export type VerifyToken = (token: string) => Promise<VerifiedToken>

type SignInConfig = Pick<Config, 'SIGN_IN_SECRET' | 'SIGN_IN_JWKS_URL' | 'SIGN_IN_ISSUER' | 'SIGN_IN_AUDIENCE'>

const toleranceSeconds = 5
const maxLifeSeconds = 300
const maxOwnerCharacters = 200
const maxTokenIdCharacters = 200
const fetchTimeoutMs = 3_000
/** Against algorithm confusion: a public key is never tried as a shared secret, nor a secret as a public key. */
const secretAlgorithms = ['HS256']
const publicKeyAlgorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

const claimsSchema = z.object({
  sub: z
    .string()
    .refine((text) => text.trim() !== '' && [...text].length <= maxOwnerCharacters)
    .transform((text) => text.toWellFormed()),
  team: identifier.transform((text) => text as TeamId),
  role: z.string(),
  exp: z.number(),
  jti: z.string().min(1).max(maxTokenIdCharacters),
})

/** Verifies signature, claims and lifetime of the sign-in tokens that the product issues; `usedTokens` knows whether one was used. */
export function tokenVerifier(config: SignInConfig, nowMs: () => number): VerifyToken {
  const verify = jwtVerifier(config)
  return async (token) => {
    const now = nowMs()
    const claims = claimsSchema.safeParse(await verify(token, new Date(now)).catch(throwSettingsError))
    if (!claims.success) throw settingsError('link-not-valid')
    const { sub, team, role, exp, jti } = claims.data
    if (exp * 1_000 > now + (maxLifeSeconds + toleranceSeconds) * 1_000) throw settingsError('link-not-valid')
    if (role !== 'owner') throw settingsError('not-owner')
    return { owner: { team, sub }, tokenId: jti, usableUntilMs: (exp + toleranceSeconds) * 1_000 }
  }
}

function jwtVerifier(config: SignInConfig): (token: string, now: Date) => Promise<JWTPayload> {
  const rules = {
    issuer: config.SIGN_IN_ISSUER ?? '',
    audience: config.SIGN_IN_AUDIENCE,
    clockTolerance: toleranceSeconds,
    requiredClaims: ['exp', 'jti', 'sub', 'team', 'role'],
  }
  if (config.SIGN_IN_JWKS_URL === undefined) {
    const secret = new TextEncoder().encode(config.SIGN_IN_SECRET)
    return async (token, currentDate) =>
      (await jwtVerify(token, secret, { ...rules, algorithms: secretAlgorithms, currentDate })).payload
  }
  const keys = createRemoteJWKSet(new URL(config.SIGN_IN_JWKS_URL), { timeoutDuration: fetchTimeoutMs })
  return async (token, currentDate) =>
    (await jwtVerify(token, keys, { ...rules, algorithms: publicKeyAlgorithms, currentDate })).payload
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
