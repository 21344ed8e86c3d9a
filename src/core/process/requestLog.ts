import { randomUUID } from 'node:crypto'
import type { RouterMiddleware } from '@koa/router'
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { metricsIn } from './metrics.ts'

/** The label of requests that matched no route; paths would make the number of labels unbounded. */
const noRoute = 'none'
const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** The metrics of requests; `reasons` are all reasons for rejecting one. */
export function requestMetrics<Reason extends string>(registry: Registry, reasons: Iterable<Reason>) {
  const registers = [registry]
  const { counter, histogram } = metricsIn(registry)
  const refusals = 'Requests that were refused or could not be served, by reason'
  const rejected = counter('tidemark_http_rejected_total', refusals, ['reason'])
  // Without a sample of 0, rate() and increase() would miss the first count.
  for (const reason of reasons) rejected.inc({ reason }, 0)
  return {
    duration: histogram(
      'tidemark_http_request_duration_seconds',
      'Duration from a request to the end of its response; _count is the number of requests',
      durationBucketsSeconds,
      ['route', 'method', 'status'],
    ),
    inFlight: new Gauge({ name: 'tidemark_http_requests_in_flight', help: 'Requests in progress', registers }),
    /** Counts a request that was rejected, or could not be answered for now. */
    rejected: (reason: Reason): void => rejected.inc({ reason }),
  }
}

type Matched = { readonly matched?: readonly { readonly path: string | RegExp }[] }

/** The pattern of the route that matches the path, whatever the method; undefined when there is none, or routing did not begin. */
export function routeOf({ matched }: Matched): string | undefined {
  const path = matched?.[0]?.path
  return path === undefined ? undefined : String(path)
}

/** `waitedMs` reads for how long a request was held because it prefers to wait, which its duration leaves out. */
type ObservedState = { requestId: string; readonly waitedMs?: () => number }

/**
 * Gives every request an `X-Request-Id`. When its answer was sent or aborted, measures it and logs one line, without URL, headers,
 * parameters or body: those may contain keys, sign-in tokens, sessions and personal data.
 */
export const observeRequests =
  <State extends ObservedState>(
    log: Logger,
    { duration, inFlight }: Pick<ReturnType<typeof requestMetrics>, 'duration' | 'inFlight'>,
    whose: (state: State) => Readonly<Record<string, string | undefined>>,
  ): RouterMiddleware<State, object> =>
  (ctx, next) => {
    const startedMs = performance.now()
    const requestId = randomUUID()
    ctx.state.requestId = requestId
    ctx.set('X-Request-Id', requestId)
    inFlight.inc()
    ctx.res.once('close', () => {
      const { method, status } = ctx
      const route = routeOf(ctx)
      const waitedMs = ctx.state.waitedMs?.()
      const durationMs = performance.now() - startedMs - (waitedMs ?? 0)
      inFlight.dec()
      duration.observe({ route: route ?? noRoute, method, status }, durationMs / 1_000)
      log.info(
        {
          ...{ requestId, method, route, status, durationMs: Math.round(durationMs) },
          ...(waitedMs !== undefined && { waitedMs: Math.round(waitedMs) }),
          ...whose(ctx.state),
          ...(!ctx.res.writableFinished && { aborted: true }),
        },
        'request',
      )
    })
    return next()
  }
