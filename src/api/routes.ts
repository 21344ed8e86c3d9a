import { Router } from '@koa/router'
import { maxUrlBytes } from '../core/process/clientErrors.ts'
import { routeOf } from '../core/process/requestLog.ts'
import type { ApiMiddleware, RouteDeps, RouteState } from './context.ts'
import { type ApiError, apiError } from './errors.ts'
import { getForm, listForms } from './forms.ts'
import { countSubmissions } from './submissionCounts.ts'
import { getSubmission, listSubmissions } from './submissions.ts'

/** The five endpoints. A trailing slash names the same route; paths are case-sensitive. */
export const routes = (deps: RouteDeps): Router<RouteState, object> =>
  new Router<RouteState, object>({ prefix: '/api/v1', sensitive: true })
    .get('/forms', (ctx) => listForms(ctx, deps))
    .get('/forms/:id', (ctx) => getForm(ctx, deps))
    .get('/records', (ctx) => listSubmissions(ctx, deps))
    .get('/records/:id', (ctx) => getSubmission(ctx, deps))
    .get('/record-counts', (ctx) => countSubmissions(ctx, deps))

/** The methods of every route: all are read-only. */
export const allowedMethods = 'GET, HEAD, OPTIONS'

const methodNotAllowed = (): ApiError =>
  apiError('method_not_allowed', `only ${allowedMethods} are supported`, { headers: { Allow: allowedMethods } })

/** Answers OPTIONS for any path, without a key. */
export const options: ApiMiddleware = async (ctx, next) => {
  if (ctx.method !== 'OPTIONS') return next()
  ctx.set('Allow', allowedMethods)
  ctx.status = 204
}

/** Answers 405 if a public route was matched by path but not by method. */
export const otherMethods: ApiMiddleware = (ctx, next) => {
  if (routeOf(ctx) !== undefined) throw methodNotAllowed()
  return next()
}

/** Answers requests that no route handled: 405 if the path is known, 404 if not. */
export const unrouted: ApiMiddleware = (ctx) => {
  throw routeOf(ctx) === undefined ? apiError('not_found', 'no such route') : methodNotAllowed()
}

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
