import type { SettingsContext } from './context.ts'
import { sessionLifeMs } from './sessions.ts'

/** `Secure` is set for an origin of https:// alone; http:// is for loopback. */
type Cookie = {
  readonly name: string
  readonly value: string
  readonly maxAgeSeconds: number
  readonly isSecure: boolean
}

/** Appends a `Set-Cookie` header. Koa's `ctx.cookies` refuses `Secure` on the plain connection that a TLS proxy leaves. */
export function setCookie(ctx: SettingsContext, { name, value, maxAgeSeconds, isSecure }: Cookie): void {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`
  ctx.append('Set-Cookie', `${name}=${value}; ${attributes}`)
}

/** The cookie that holds a session's id. The prefix `__Host-` keeps other hosts of the same domain from setting it. */
export type SessionCookie = {
  /** The id that the browser sent; undefined unless it has the form of an id. */
  read(ctx: SettingsContext): string | undefined
  write(ctx: SettingsContext, id: string): void
  clear(ctx: SettingsContext): void
}

const idPattern = /^[A-Za-z0-9_-]{43}$/

export function sessionCookie(isSecure: boolean): SessionCookie {
  const name = isSecure ? '__Host-tidemark-session' : 'tidemark-session'
  return {
    read: (ctx) => {
      const id = ctx.cookies.get(name)
      return id !== undefined && idPattern.test(id) ? id : undefined
    },
    write: (ctx, id) => setCookie(ctx, { name, value: id, maxAgeSeconds: sessionLifeMs / 1_000, isSecure }),
    clear: (ctx) => setCookie(ctx, { name, value: '', maxAgeSeconds: 0, isSecure }),
  }
}
