import type { SettingsContext, SettingsMiddleware } from './context.ts'
import { readForm } from './forms.ts'
import { RequestError } from './requestError.ts'
import type { SessionCookie } from './sessionCookie.ts'
import type { OpenSession, Sessions } from './sessions.ts'

/** Makes routes that a signed-in owner alone reaches. */
export type SignedIn = {
  page(answer: (ctx: SettingsContext, session: OpenSession) => Promise<void>): SettingsMiddleware
  form(answer: (ctx: SettingsContext, session: OpenSession, form: URLSearchParams) => Promise<void>): SettingsMiddleware
}

export function signedIn(sessions: Sessions, cookie: SessionCookie): SignedIn {
  const sessionOf = async (ctx: SettingsContext): Promise<OpenSession> => {
    const id = cookie.read(ctx)
    const session = id === undefined ? null : await sessions.find(id)
    if (session === null) throw new RequestError({ kind: 'no-session' })
    ctx.state.session = session
    return session
  }
  return {
    page: (answer) => async (ctx) => answer(ctx, await sessionOf(ctx)),
    form: (answer) => async (ctx) => {
      const session = await sessionOf(ctx)
      await answer(ctx, session, await readForm(ctx, session))
    },
  }
}
