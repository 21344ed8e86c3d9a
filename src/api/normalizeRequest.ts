import { maxUrlBytes } from '../core/process/clientErrors.ts'
import type { ApiMiddleware } from './context.ts'
import { apiError } from './errors.ts'

/** Normalises the request target, and `Accept`. */
export const normalizeRequest: ApiMiddleware = (ctx, next) => {
  const { headers, url = '' } = ctx.req
  if (url.length > maxUrlBytes) throw apiError('uri_too_long', 'the URL is too long')
  ctx.req.url = originForm(url)
  if (headers.accept !== undefined) headers.accept = withoutMediaTypeParameters(headers.accept)
  return next()
}

/** The origin form (path and query) of a request target, which may be in absolute form; `/` if it has no path, such as `*`. */
function originForm(target: string): string {
  const [withoutFragment = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split('#', 1)
  if (withoutFragment.startsWith('/')) return withoutFragment
  return withoutFragment.startsWith('?') ? `/${withoutFragment}` : '/'
}

/** Matches parameters of a media type other than its weight `q`. */
const mediaTypeParameters = /;\s*(?!q=)[^\s;,=]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*)/gi

/** `Accept` without parameters such as a charset, which select no other answer. */
const withoutMediaTypeParameters = (accept: string): string => accept.replaceAll(mediaTypeParameters, '')
