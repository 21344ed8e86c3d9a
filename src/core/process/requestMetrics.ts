import type { RouterMiddleware } from '@koa/router'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import { type Held, routeOf } from './requestLog.ts'

/** The label of requests that matched no route; paths would make the number of labels unbounded. */
const noRoute = 'none'
const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

type RequestMetrics<Reason extends string> = {
  readonly duration: Histogram<'route' | 'method' | 'status'>
  readonly inFlight: Gauge
  /** Counts a request that was rejected, or could not be answered for now. */
  rejected(reason: Reason): void
}

/** The metrics of requests; `reasons` are all reasons for rejecting one. */
export function requestMetrics<Reason extends string>(
  registry: Registry,
  reasons: readonly Reason[],
): RequestMetrics<Reason> {
  const registers = [registry]
  const rejected = new Counter({
    name: 'tidemark_http_rejected_total',
    help: 'Requests that were refused or could not be served, by reason',
    labelNames: ['reason'] as const,
    registers,
  })
  // Without a sample of 0, rate() and increase() would miss the first count.
  for (const reason of reasons) rejected.inc({ reason }, 0)
  return {
    duration: new Histogram({
      name: 'tidemark_http_request_duration_seconds',
      help: 'Duration from a request to the end of its response; _count is the number of requests',
      labelNames: ['route', 'method', 'status'] as const,
      buckets: durationBucketsSeconds,
      registers,
    }),
    inFlight: new Gauge({
      name: 'tidemark_http_requests_in_flight',
      help: 'Requests in progress',
      registers,
    }),
    rejected: (reason) => rejected.inc({ reason }),
  }
}

/** Measures every request, without the time for which it was held because it prefers to wait. */
export const measure =
  <State>({
    duration,
    inFlight,
  }: Pick<RequestMetrics<string>, 'duration' | 'inFlight'>): RouterMiddleware<State & Held, object> =>
  (ctx, next) => {
    const startedMs = performance.now()
    inFlight.inc()
    ctx.res.once('close', () => {
      inFlight.dec()
      const tookMs = performance.now() - startedMs - (ctx.state.waited?.readMs() ?? 0)
      duration.observe({ route: routeOf(ctx) ?? noRoute, method: ctx.method, status: ctx.status }, tookMs / 1_000)
    })
    return next()
  }
