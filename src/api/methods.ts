import { routeOf } from '../core/process/requestLog.ts'
import type { ApiMiddleware } from './context.ts'
import { type ApiError, apiError } from './errors.ts'

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
