import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'

export const signInSecret = 'a secret of the tests, forty bytes long.'
export const signInIssuer = 'https://quiz.example'

/** Settings with which a settings area accepts these sign-ins. */
export const signInSettings = { SIGN_IN_SECRET: signInSecret, SIGN_IN_ISSUER: signInIssuer }

export type Claims = Readonly<Record<string, unknown>>
export type SigningKey = Parameters<SignJWT['sign']>[0]

/** The claims of a valid sign-in at `nowMs`; `changes` replace claims, undefined removes one. */
export function signInClaims(nowMs: number, changes: Claims = {}): Claims {
  const claims = {
    ...{ iss: signInIssuer, aud: 'tidemark-settings', sub: 'owner-1', team: 'acme', role: 'owner' },
    exp: Math.floor(nowMs / 1_000) + 120,
    jti: randomUUID(),
    ...changes,
  }
  return Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
}

/** Signs a token, validly or as a forger would. */
export const signToken = (
  claims: Claims,
  key: SigningKey = Buffer.from(signInSecret),
  header: { alg: string; kid?: string } = { alg: 'HS256' },
): Promise<string> => new SignJWT({ ...claims }).setProtectedHeader(header).sign(key)

/** A token without a signature (`alg: none`), which a careless verifier would accept. */
export function unsignedToken(claims: Claims): string {
  const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none', typ: 'JWT' })}.${part(claims)}.`
}
