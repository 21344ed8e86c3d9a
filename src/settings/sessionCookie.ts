import type { SettingsContext } from './context.ts'
import { sessionLifeMs } from './sessions.ts'

/** The cookie that holds a session's id. Over HTTPS its name keeps every other host from setting it. */
export type SessionCookie = {
  /** What the browser sent, when it has the shape of an id. */
  read(ctx: SettingsContext): string | undefined
  write(ctx: SettingsContext, id: string): void
  clear(ctx: SettingsContext): void
}

const idPattern = /^[A-Za-z0-9_-]{43}$/

/** `origin` is where browsers reach the settings area; http:// is for loopback alone. */
export function sessionCookie(origin: string): SessionCookie {
  const isSecure = origin.startsWith('https:')
  const name = isSecure ? '__Host-tidemark-session' : 'tidemark-session'
  // Koa refuses to set a secure cookie on the plain connection that a proxy in front leaves.
  const set = (ctx: SettingsContext, value: string, maxAgeSeconds: number): void =>
    ctx.append(
      'Set-Cookie',
      `${name}=${value}; Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`,
    )
  return {
    read: (ctx) => {
      const id = ctx.cookies.get(name)
      return id !== undefined && idPattern.test(id) ? id : undefined
    },
    write: (ctx, id) => set(ctx, id, sessionLifeMs / 1_000),
    clear: (ctx) => set(ctx, '', 0),
  }
}
