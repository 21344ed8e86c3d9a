import { Counter, Histogram, type Registry } from 'prom-client'
import { routeOf } from '../requestLog.ts'
import type { ApiMiddleware } from './context.ts'

/** Bounded label for requests that were ended before, or without, a route. */
const noRoute = 'none'
const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export type ApiMetrics = {
  readonly requestDuration: Histogram<'route' | 'method' | 'status'>
  readonly ignoredParameters: Counter<'route'>
}

export const registerMetrics = (registry: Registry): ApiMetrics => ({
  requestDuration: new Histogram({
    name: 'tidemark_http_request_duration_seconds',
    help: 'Time from a request to the end of its answer; its _count counts the requests',
    labelNames: ['route', 'method', 'status'],
    buckets: durationBucketsSeconds,
    registers: [registry],
  }),
  ignoredParameters: new Counter({
    name: 'tidemark_http_ignored_parameters_total',
    help: 'Query parameters that requests carried and no route knows',
    labelNames: ['route'],
    registers: [registry],
  }),
})

/** Measures every request. */
export const measure =
  ({ requestDuration }: ApiMetrics): ApiMiddleware =>
  (ctx, next) => {
    const stopTimer = requestDuration.startTimer()
    ctx.res.once('close', () => {
      stopTimer({ route: routeOf(ctx) ?? noRoute, method: ctx.method, status: ctx.status })
    })
    return next()
  }
