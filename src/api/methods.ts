import { routeOf } from '../core/process/requestLog.ts'
import type { ApiMiddleware } from './context.ts'
import { RequestError } from './requestError.ts'

/** Every route reads. */
export const allowedMethods = 'GET, HEAD, OPTIONS'

/** Answers OPTIONS for any path: the methods are no secret, and a key is not asked for. */
export const options: ApiMiddleware = async (ctx, next) => {
  if (ctx.method !== 'OPTIONS') return next()
  ctx.set('Allow', allowedMethods)
  ctx.status = 204
}

/** Ends a request whose path is known so far, under another method. */
export const otherMethods: ApiMiddleware = (ctx, next) => {
  if (routeOf(ctx) !== undefined) throw new RequestError({ kind: 'method_not_allowed' })
  return next()
}

/** Ends a request that no route took: its path is known under another method, or not at all. */
export const unrouted: ApiMiddleware = (ctx) => {
  throw new RequestError(
    routeOf(ctx) === undefined ? { kind: 'not_found', what: 'route' } : { kind: 'method_not_allowed' },
  )
}
