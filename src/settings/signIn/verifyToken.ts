import { createRemoteJWKSet, errors, type JWTPayload, jwtVerify } from 'jose'
import { z } from 'zod'
import type { TeamId } from '../../core/model/ids.ts'
import { identifier } from '../../core/model/schema.ts'
import type { Config } from '../../core/process/config.ts'
import { RequestError, type SignInRefusal } from '../requestError.ts'
import type { Owner } from '../sessions.ts'

export type VerifyResult =
  | { readonly ok: true; readonly owner: Owner; readonly tokenId: string; readonly usableUntilMs: number }
  | { readonly ok: false; readonly reason: Exclude<SignInRefusal, 'used'> }

export type VerifyToken = (token: string) => Promise<VerifyResult>

export type SignInConfig = Pick<Config, 'SIGN_IN_SECRET' | 'SIGN_IN_JWKS_URL' | 'SIGN_IN_ISSUER' | 'SIGN_IN_AUDIENCE'>

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

/** Verifies signature, claims and lifetime of the sign-in tokens that the product issues; `usedTokens` holds whether one was used. */
export function tokenVerifier(config: SignInConfig, nowMs: () => number): VerifyToken {
  const verify = jwtVerifier(config)
  return async (token) => {
    const now = nowMs()
    const verified = await verify(token, new Date(now)).catch(refusalOf)
    if (typeof verified === 'string') return { ok: false, reason: verified }
    const claims = claimsSchema.safeParse(verified)
    if (!claims.success) return { ok: false, reason: 'not-valid' }
    const { sub, team, role, exp, jti } = claims.data
    if (exp * 1_000 > now + (maxLifeSeconds + toleranceSeconds) * 1_000) return { ok: false, reason: 'not-valid' }
    if (role !== 'owner') return { ok: false, reason: 'not-owner' }
    return { ok: true, owner: { team, sub }, tokenId: jti, usableUntilMs: (exp + toleranceSeconds) * 1_000 }
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

/** Throws `unavailable` when the token could not be verified for want of the product's public keys. */
function refusalOf(error: Error): 'expired' | 'not-valid' {
  if (error instanceof errors.JWTExpired) return 'expired'
  const isKeySetMissing = error instanceof errors.JWKSTimeout || error instanceof errors.JWKSInvalid
  if (error instanceof errors.JOSEError && !isKeySetMissing && error.code !== 'ERR_JOSE_GENERIC') return 'not-valid'
  const cause = new Error(`the keys of SIGN_IN_JWKS_URL cannot be had: ${error.message}`)
  throw new RequestError({ kind: 'unavailable', cause })
}
