import type { ApiMiddleware } from './context.ts'

/** Keeps shared caches from holding, or handing to another key, what one team may read. */
export const privateAnswers: ApiMiddleware = (ctx, next) => {
  ctx.set('Cache-Control', 'private, no-cache')
  ctx.set('Vary', 'Authorization, Accept, Accept-Encoding')
  return next()
}
