import type { ApiMiddleware } from './context.ts'

/** The `Cache-Control` of answers to one team. */
export const whoMayKeep = 'private, no-cache'

/** Their `Vary`: the request headers that an answer depends on. */
export const answersDependOn = 'Authorization, Accept, Accept-Encoding'

/** Keeps shared caches from holding, or handing to another key, what one team may read. */
export const privateAnswers: ApiMiddleware = (ctx, next) => {
  ctx.set('Cache-Control', whoMayKeep)
  ctx.set('Vary', answersDependOn)
  return next()
}
