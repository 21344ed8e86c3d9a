import { Router } from '@koa/router'
import type { SettingsMiddleware, SettingsState } from '../context.ts'
import type { RouteDeps } from '../deps.ts'
import { settingsError } from '../errors.ts'
import { messagesIn } from '../pages/languages.ts'
import { messagePage } from '../pages/layout.ts'
import { seeOther } from '../respond.ts'

/** Signing in with a link from the product, and signing out. */
export const signInRoutes = (deps: RouteDeps): Router<SettingsState, object> =>
  new Router<SettingsState, object>({ sensitive: true })
    .get('/sign-in', signIn(deps))
    .post('/sign-out', signOut(deps))
    .get('/signed-out', async (ctx) => {
      await deps.respondWithPage(ctx, 200, messagePage(messagesIn[ctx.state.language].signedOut))
    })

/** Turns a token into a new session, and ends the one that the browser had: against session fixation. */
const signIn =
  ({ verifyToken, consumeToken, sessions, cookie }: RouteDeps): SettingsMiddleware =>
  async (ctx) => {
    // A link preview (HEAD) must not consume the token.
    if (ctx.method === 'HEAD') throw settingsError('method-not-allowed', { headers: { Allow: 'GET' } })
    // This URL holds a secret. Its pages have no forms, which would be sent with `Origin: null` under this policy.
    ctx.set('Referrer-Policy', 'no-referrer')
    const { token } = ctx.query
    const { owner, tokenId, usableUntilMs } = await verifyToken(typeof token === 'string' ? token : '')
    if (!(await consumeToken(tokenId, usableUntilMs))) throw settingsError('link-used')
    const former = cookie.read(ctx)
    if (former !== undefined) await sessions.end(former)
    const session = await sessions.open(owner)
    ctx.state.session = session
    cookie.write(ctx, session.id)
    seeOther(ctx, '/keys')
  }

const signOut = ({ sessions, cookie, requireSession }: RouteDeps): SettingsMiddleware =>
  requireSession.form(async (ctx, session) => {
    await sessions.end(session.id)
    cookie.clear(ctx)
    seeOther(ctx, '/signed-out')
  })
