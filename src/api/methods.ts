import { routeOf } from '../core/process/requestLog.ts'
import type { ApiMiddleware } from './context.ts'
import { RequestError } from './requestError.ts'

/** Every route is read-only. */
export const allowedMethods = 'GET, HEAD, OPTIONS'

/** Answers OPTIONS for any path, without a key. */
export const options: ApiMiddleware = async (ctx, next) => {
  if (ctx.method !== 'OPTIONS') return next()
  ctx.set('Allow', allowedMethods)
  ctx.status = 204
}

/** Answers 405 if a public route was matched by path but not by method. */
export const otherMethods: ApiMiddleware = (ctx, next) => {
  if (routeOf(ctx) !== undefined) throw new RequestError({ kind: 'method_not_allowed' })
  return next()
}

/** Answers requests that no route handled: 405 if the path is known, 404 if not. */
export const unrouted: ApiMiddleware = (ctx) => {
  throw new RequestError(
    routeOf(ctx) === undefined ? { kind: 'not_found', what: 'route' } : { kind: 'method_not_allowed' },
  )
}
