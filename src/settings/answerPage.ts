import type { SettingsContext } from './context.ts'
import { type AssetPaths, layout, type Page } from './pages/layout.ts'

const retryAfterSeconds = 5

/** Answers with a page in the request's language. */
export type AnswerPage = (ctx: SettingsContext, status: number, page: Page) => Promise<void>

export const pageAnswers =
  (assets: AssetPaths): AnswerPage =>
  async (ctx, status, page) => {
    const { language, session } = ctx.state
    const frame = { language, assets, owner: session, path: pathInOtherLanguages(ctx) }
    ctx.status = status
    if (status === 503) ctx.set('Retry-After', String(retryAfterSeconds))
    ctx.type = 'html'
    ctx.set('Content-Language', language)
    ctx.vary('Accept-Language, Cookie')
    ctx.body = String(await layout(frame, page))
  }

/** A page that answers a form is had once, and so is one that answers a sign-in. */
function pathInOtherLanguages(ctx: SettingsContext): string | undefined {
  const isAnswerToForm = ctx.method !== 'GET' && ctx.method !== 'HEAD'
  if (isAnswerToForm) return undefined
  return ctx.path === '/sign-in' ? '/keys' : ctx.path
}
