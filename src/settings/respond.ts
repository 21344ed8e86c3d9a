import type { AssetPaths } from '../core/process/staticFile.ts'
import type { SettingsContext } from './context.ts'
import { layout, type Page } from './pages/layout.ts'

const retryAfterSeconds = 5

/** Responds with a page in the request's language. */
export type RespondWithPage = (ctx: SettingsContext, status: number, page: Page) => Promise<void>

export const pageResponder =
  (assets: AssetPaths): RespondWithPage =>
  async (ctx, status, page) => {
    const { language, session } = ctx.state
    const frame = { language, assets, owner: session, path: pathInOtherLanguages(ctx) }
    ctx.status = status
    if (status === 503) ctx.set('Retry-After', String(retryAfterSeconds))
    ctx.type = 'html'
    ctx.set('Content-Language', language)
    ctx.vary('Accept-Language, Cookie')
    ctx.body = String(layout(frame, page))
  }

/** Undefined for the answer to a form, which no GET repeats. A sign-in link works once, so that the list of keys stands in for it. */
function pathInOtherLanguages(ctx: SettingsContext): string | undefined {
  const isAnswerToForm = ctx.method !== 'GET' && ctx.method !== 'HEAD'
  if (isAnswerToForm) return undefined
  // A path that begins with two slashes would be read as the name of another host.
  return ctx.path === '/sign-in' ? '/keys' : ctx.path.replace(/^[/\\]+/, '/')
}

/** Redirects the browser to another page, which it requests with GET (303 See Other). */
export function seeOther(ctx: SettingsContext, path: string): void {
  ctx.status = 303
  ctx.redirect(path)
}
