import { randomUUID } from 'node:crypto'
import type { RouterMiddleware } from '@koa/router'
import type { Logger } from 'pino'

type Matched = { readonly matched?: readonly { readonly path: string | RegExp }[] }

/** The pattern of the route that the path names, whatever the method; undefined when there is none or it was not looked for. */
export function routeOf({ matched }: Matched): string | undefined {
  const path = matched?.[0]?.path
  return path === undefined ? undefined : String(path)
}

/**
 * Names every request in `X-Request-Id` and logs one line for it when its answer has gone; `whose` tells whose request it was.
 * The line holds no URL, header, parameter or form: those may carry keys, sign-ins, sessions and what people wrote.
 */
export const requestLog =
  <State extends { requestId: string }>(
    log: Logger,
    whose: (state: State) => Readonly<Record<string, string | undefined>>,
  ): RouterMiddleware<State, object> =>
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
          ...whose(ctx.state),
          ...(!ctx.res.writableFinished && { aborted: true }),
        },
        'request',
      )
    })
    return next()
  }
