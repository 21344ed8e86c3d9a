import { Router } from '@koa/router'
import type { AnswerPage } from '../answerPage.ts'
import type { SettingsMiddleware, SettingsState } from '../context.ts'
import { messagesIn } from '../pages/languages.ts'
import { messagePage } from '../pages/messagePage.ts'
import { RequestError } from '../requestError.ts'
import { seeOther } from '../seeOther.ts'
import type { SessionCookie } from '../sessionCookie.ts'
import type { Sessions } from '../sessions.ts'
import type { SignedIn } from '../signedIn.ts'
import type { TakeUse } from './usedTokens.ts'
import type { SignInJudge } from './verifyToken.ts'

export type SignInDeps = {
  readonly judge: SignInJudge
  readonly takeUse: TakeUse
  readonly sessions: Sessions
  readonly cookie: SessionCookie
  readonly signedIn: SignedIn
  readonly answerPage: AnswerPage
}

/** How an owner comes in and goes out. */
export const signInRoutes = (needs: SignInDeps): Router<SettingsState, object> =>
  new Router<SettingsState, object>({ sensitive: true })
    .get('/sign-in', signIn(needs))
    .post('/sign-out', signOut(needs))
    .get('/signed-out', async (ctx) => {
      await needs.answerPage(ctx, 200, messagePage(messagesIn[ctx.state.language].signedOut))
    })

/** A token becomes a session of its own; one that the browser had before ends, whoever gave it to the browser. */
const signIn =
  ({ judge, takeUse, sessions, cookie }: SignInDeps): SettingsMiddleware =>
  async (ctx) => {
    // A look at a link must not use it up.
    if (ctx.method === 'HEAD') throw new RequestError({ kind: 'method-not-allowed', allowed: ['GET'] })
    // This URL alone holds a secret, and its page has no form.
    ctx.set('Referrer-Policy', 'no-referrer')
    const { token } = ctx.query
    const judged = await judge(typeof token === 'string' ? token : '')
    if (!judged.ok) throw new RequestError({ kind: 'sign-in-refused', reason: judged.reason })
    if (!(await takeUse(judged.tokenId, judged.usableUntilMs)))
      throw new RequestError({ kind: 'sign-in-refused', reason: 'used' })
    const former = cookie.read(ctx)
    if (former !== undefined) await sessions.end(former)
    const session = await sessions.open(judged.owner)
    ctx.state.session = session
    cookie.write(ctx, session.id)
    seeOther(ctx, '/keys')
  }

const signOut = ({ sessions, cookie, signedIn }: SignInDeps): SettingsMiddleware =>
  signedIn.form(async (ctx, session) => {
    await sessions.end(session.id)
    cookie.clear(ctx)
    seeOther(ctx, '/signed-out')
  })
