import type { ApiMiddleware } from './context.ts'

/** The `Cache-Control` of answers to one team. */
export const privateCacheControl = 'private, no-cache'

/** Their `Vary`: the request headers that an answer depends on. */
export const varyHeader = 'Authorization, Accept, Accept-Encoding'

/** Keeps shared caches from holding, or handing to another key, what one team may read. */
export const privateCaching: ApiMiddleware = (ctx, next) => {
  ctx.set('Cache-Control', privateCacheControl)
  ctx.set('Vary', varyHeader)
  return next()
}
