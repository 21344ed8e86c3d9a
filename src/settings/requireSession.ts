import type { SettingsContext, SettingsMiddleware } from './context.ts'
import type { SessionCookie } from './cookies.ts'
import { readForm } from './csrf.ts'
import { settingsError } from './errors.ts'
import type { OpenSession, Sessions } from './sessions.ts'

/** Makes handlers that run for a signed-in owner only; any other request ends with `no-session`. */
export type RequireSession = {
  page(handle: (ctx: SettingsContext, session: OpenSession) => Promise<void>): SettingsMiddleware
  /** For POST: the handler also gets the form, once its CSRF token was found to be the session's. */
  form(handle: (ctx: SettingsContext, session: OpenSession, form: URLSearchParams) => Promise<void>): SettingsMiddleware
}

export function requireSession(sessions: Sessions, cookie: SessionCookie): RequireSession {
  const sessionOf = async (ctx: SettingsContext): Promise<OpenSession> => {
    const id = cookie.read(ctx)
    const session = id === undefined ? null : await sessions.find(id)
    if (session === null) throw settingsError('no-session')
    ctx.state.session = session
    return session
  }
  return {
    page: (handle) => async (ctx) => handle(ctx, await sessionOf(ctx)),
    form: (handle) => async (ctx) => {
      const session = await sessionOf(ctx)
      await handle(ctx, session, await readForm(ctx, session))
    },
  }
}
