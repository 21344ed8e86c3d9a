import { randomUUID } from 'node:crypto'
import type { RouterMiddleware } from '@koa/router'
import type { Logger } from 'pino'
import type { Stopwatch } from './stopwatch.ts'

type Matched = { readonly matched?: readonly { readonly path: string | RegExp }[] }

/** The pattern of the route that matches the path, whatever the method; undefined when there is none, or routing did not begin. */
export function routeOf({ matched }: Matched): string | undefined {
  const path = matched?.[0]?.path
  return path === undefined ? undefined : String(path)
}

/** The state of a request that may be held on purpose: for how long it was. */
export type Held = { readonly waited?: Stopwatch }

/**
 * Gives every request an `X-Request-Id`, and logs one line when its answer was sent or aborted; `whose` adds the client's ids.
 * The line holds no URL, header, parameter or body: those may contain keys, sign-in tokens, sessions and personal data.
 */
export const requestLog =
  <State extends Held & { requestId: string }>(
    log: Logger,
    whose: (state: State) => Readonly<Record<string, string | undefined>>,
  ): RouterMiddleware<State, object> =>
  (ctx, next) => {
    const startedMs = performance.now()
    const requestId = randomUUID()
    ctx.state.requestId = requestId
    ctx.set('X-Request-Id', requestId)
    ctx.res.once('close', () => {
      const waitedMs = ctx.state.waited?.readMs()
      log.info(
        {
          requestId,
          method: ctx.method,
          route: routeOf(ctx),
          status: ctx.status,
          durationMs: Math.round(performance.now() - startedMs - (waitedMs ?? 0)),
          ...(waitedMs !== undefined && { waitedMs: Math.round(waitedMs) }),
          ...whose(ctx.state),
          ...(!ctx.res.writableFinished && { aborted: true }),
        },
        'request',
      )
    })
    return next()
  }
