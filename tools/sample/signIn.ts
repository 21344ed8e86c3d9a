import { randomUUID } from 'node:crypto'
import { SignJWT } from 'jose'

export type SignIn = { readonly settingsUrl: string; readonly secret: string }

const signInIssuer = 'tidemark-demo'

/** With these settings, a settings area accepts the links of the demo in place of the product's. */
export const signInEnvironment = (secret: string): Record<string, string> => ({
  SIGN_IN_SECRET: secret,
  SIGN_IN_JWKS_URL: '',
  SIGN_IN_ISSUER: signInIssuer,
  SIGN_IN_AUDIENCE: '',
})

const owner = 'owner@demo.example'
const lifetimeSeconds = 300

/** Signs in an owner of the team; valid once, for five minutes. */
export async function signInLink({ settingsUrl, secret }: SignIn, teamId: string, nowMs: number): Promise<string> {
  const token = await new SignJWT({ team: teamId, role: 'owner' })
    .setProtectedHeader({ alg: 'HS256' })
    .setIssuer(signInIssuer)
    .setAudience('tidemark-settings')
    .setSubject(owner)
    .setJti(randomUUID())
    .setExpirationTime(Math.floor(nowMs / 1_000) + lifetimeSeconds)
    .sign(Buffer.from(secret))
  return `${settingsUrl}/sign-in?token=${token}`
}
