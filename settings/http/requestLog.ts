import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { routeOf, type SettingsMiddleware } from './context.ts'

/**
 * Names every request in `X-Request-Id` and logs one line for it when its answer has gone. The line holds no URL, header or
 * form: those carry sign-ins, sessions and what people wrote.
 */
export const requestLog =
  (log: Logger): SettingsMiddleware =>
  (ctx, next) => {
    const startedMs = performance.now()
    const requestId = randomUUID()
    ctx.state.requestId = requestId
    ctx.set('X-Request-Id', requestId)
    ctx.res.once('close', () => {
      log.info(
        {
          requestId,
          method: ctx.method,
          route: routeOf(ctx),
          status: ctx.status,
          durationMs: Math.round(performance.now() - startedMs),
          teamId: ctx.state.session?.team,
          ...(!ctx.res.writableFinished && { aborted: true }),
        },
        'request',
      )
    })
    return next()
  }
