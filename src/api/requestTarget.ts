import { maxUrlBytes } from '../core/process/clientErrors.ts'
import type { ApiMiddleware } from './context.ts'
import { RequestError } from './requestError.ts'

/** Leaves path and query alone in the request's URL; clients may send it in absolute form. */
export const requestTarget: ApiMiddleware = (ctx, next) => {
  const sent = ctx.req.url ?? ''
  if (sent.length > maxUrlBytes) throw new RequestError({ kind: 'uri_too_long' })
  ctx.req.url = originForm(sent)
  return next()
}

/** The path and query of a request target; `/` for a target that has none, such as `*`. */
export function originForm(target: string): string {
  const [withoutFragment = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split('#', 1)
  if (withoutFragment.startsWith('/')) return withoutFragment
  return withoutFragment.startsWith('?') ? `/${withoutFragment}` : '/'
}
