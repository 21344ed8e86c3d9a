import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { RouterMiddleware } from '@koa/router'
import type Koa from 'koa'
import type { Logger } from 'pino'
import { Gauge, type Registry } from 'prom-client'
import { metricsIn } from '../monitoring/metrics.ts'

/** The `route` label of requests without a matching route; their paths would make cardinality unbounded. */
const noRoute = 'none'
const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

/** HTTP metrics; `reasons` are all values of the label `reason` of rejected requests. */
export function requestMetrics<Reason extends string>(registry: Registry, reasons: Iterable<Reason>) {
  const registers = [registry]
  const { counter, histogram } = metricsIn(registry)
  const refusals = 'Requests that were refused or could not be served, by reason'
  const rejected = counter('tidemark_http_rejected_total', refusals, ['reason'])
  // Start at 0: without that sample, rate() and increase() miss the first increment.
  for (const reason of reasons) rejected.inc({ reason }, 0)
  return {
    duration: histogram(
      'tidemark_http_request_duration_seconds',
      'Duration from a request to the end of its response, or to its first part; _count is the number of requests',
      durationBucketsSeconds,
      ['route', 'method', 'status'],
    ),
    inFlight: new Gauge({ name: 'tidemark_http_requests_in_flight', help: 'Requests in progress', registers }),
    rejected: (reason: Reason): void => rejected.inc({ reason }),
    slowReaders: counter(
      'tidemark_http_slow_readers_total',
      'Connections that were reset because their clients read too slowly',
    ),
  }
}

type Matched = { readonly matched?: readonly { readonly path: string | RegExp }[] }

/** The pattern of the route that matches the path, for any method; undefined when none does, or before routing. */
export function routeOf({ matched }: Matched): string | undefined {
  const path = matched?.[0]?.path
  return path === undefined ? undefined : String(path)
}

/** Several middlewares listen for the end of a response, and so do Koa and the compressor. */
const maxListeners = 20

/** An app as a request listener. Logs each answer that could not be sent once, with the first reason. */
export function listenerOf<State, Context>(app: Koa<State, Context>, log: Logger): RequestListener {
  const told = new WeakSet<object>()
  const logUnsent = (error: unknown, ctx?: { readonly state: ObservedState }): void => {
    // The code that cuts an answer off emits the reason. Koa then emits another error for the same answer: its stream has ended too early.
    if (ctx !== undefined && told.has(ctx)) return
    if (ctx !== undefined) told.add(ctx)
    log.warn({ requestId: ctx?.state.requestId, err: error }, 'an answer could not be sent')
  }
  app.on('error', logUnsent)
  const handle = app.callback()
  return (request, response) => {
    response.setMaxListeners(maxListeners)
    handle(request, response).catch(logUnsent)
  }
}

/**
 * `waitedMs`: how long a request was held because of `Prefer: wait`; not part of its duration. `firstPartMs`: when an answer in parts began
 * (`performance.now`): how long all of them take is up to the client.
 */
type ObservedState = { requestId: string; readonly waitedMs?: () => number; readonly firstPartMs?: number }

/**
 * Middleware that gives every request an `X-Request-Id`, and measures and logs it when its answer was sent or aborted. The log line
 * has no URL, headers, parameters or body: those may contain keys, sign-in tokens, sessions and personal data.
 */
export const observeRequests =
  <State extends ObservedState>(
    log: Logger,
    {
      duration,
      inFlight,
      slowReaders,
    }: Pick<ReturnType<typeof requestMetrics>, 'duration' | 'inFlight' | 'slowReaders'>,
    whose: (state: State) => Readonly<Record<string, string | undefined>>,
  ): RouterMiddleware<State, object> =>
  (ctx, next) => {
    const startedMs = performance.now()
    const requestId = randomUUID()
    ctx.state.requestId = requestId
    ctx.set('X-Request-Id', requestId)
    inFlight.inc()
    let isSlow = false
    ctx.res.once('slow', () => {
      isSlow = true
      slowReaders.inc()
    })
    ctx.res.once('close', () => {
      const { method, status } = ctx
      const route = routeOf(ctx)
      const waitedMs = ctx.state.waitedMs?.()
      const endedMs = performance.now()
      const heldMs = startedMs + (waitedMs ?? 0)
      inFlight.dec()
      duration.observe(
        { route: route ?? noRoute, method, status },
        ((ctx.state.firstPartMs ?? endedMs) - heldMs) / 1_000,
      )
      log.info(
        {
          ...{ requestId, method, route, status, durationMs: Math.round(endedMs - heldMs) },
          ...(waitedMs !== undefined && { waitedMs: Math.round(waitedMs) }),
          ...whose(ctx.state),
          ...(!ctx.res.writableFinished && { aborted: true }),
          ...(isSlow && { slow: true }),
        },
        'request',
      )
    })
    return next()
  }
