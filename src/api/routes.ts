import { Router } from '@koa/router'
import { maxUrlBytes } from '../core/http/clientErrors.ts'
import { routeOf } from '../core/http/requestLog.ts'
import { feedEndpoints } from './changeFeeds.ts'
import type { ApiMiddleware, RouteDeps, RouteState } from './context.ts'
import { type ApiError, allowedMethods, apiError } from './errors.ts'
import { formEndpoints } from './forms.ts'
import { countEndpoints } from './submissionCounts.ts'
import { submissionEndpoints } from './submissions.ts'

export const endpoints = [...formEndpoints, ...submissionEndpoints, ...countEndpoints, ...feedEndpoints]

/** Routes that need an account key. A trailing slash makes no difference. */
export function routes(deps: RouteDeps): Router<RouteState, object> {
  const router = new Router<RouteState, object>({ prefix: '/api/v1', sensitive: true })
  for (const { path, respond } of endpoints) router.get(path, (ctx) => respond(ctx, deps))
  return router
}

const methodNotAllowed = (): ApiError =>
  apiError('method_not_allowed', undefined, { headers: { Allow: allowedMethods } })

export const options: ApiMiddleware = async (ctx, next) => {
  if (ctx.method !== 'OPTIONS') return next()
  ctx.set('Allow', allowedMethods)
  ctx.status = 204
}

/** Mounted after the routes without a key: if one of them has matched the path, the request has another method. */
export const otherMethods: ApiMiddleware = (ctx, next) => {
  if (routeOf(ctx) !== undefined) throw methodNotAllowed()
  return next()
}

/** Mounted last: no route has answered. */
export const unrouted: ApiMiddleware = (ctx) => {
  throw routeOf(ctx) === undefined ? apiError('not_found', 'no such route') : methodNotAllowed()
}

export const normalizeRequest: ApiMiddleware = (ctx, next) => {
  const { headers, url = '' } = ctx.req
  if (url.length > maxUrlBytes) throw apiError('uri_too_long')
  ctx.req.url = originForm(url)
  // Parameters of a media type, such as a charset, do not select another answer.
  if (headers.accept !== undefined) headers.accept = headers.accept.replaceAll(mediaTypeParameters, '')
  return next()
}

/** `/a?b=c` of `https://host/a?b=c#d`; `/` for a target without a path, such as `*`. */
function originForm(target: string): string {
  const [withoutFragment = ''] = target.replace(/^https?:\/\/[^/?#]*/i, '').split('#', 1)
  if (withoutFragment.startsWith('/')) return withoutFragment
  return withoutFragment.startsWith('?') ? `/${withoutFragment}` : '/'
}

/** The `; charset=utf-8` of `text/csv; charset=utf-8; q=0.5`: all but the weight. */
const mediaTypeParameters = /;\s*(?!q=)[^\s;,=]+\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,]*)/gi
