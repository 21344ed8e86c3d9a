import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import type { RouterMiddleware } from '@koa/router'
import type Koa from 'koa'
import type { Logger } from 'pino'
import { type Counter, Gauge, type Histogram, type Registry } from 'prom-client'
import { metricsIn } from '../monitoring/metrics.ts'

/** Without a matching route: paths would make an unbounded number of labels. */
const noRoute = 'none'
const durationBucketsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5]

export interface RequestMetrics<Reason extends string> {
  readonly duration: Histogram<'route' | 'method' | 'status'>
  readonly inFlight: Gauge
  readonly slowReaders: Counter
  readonly rejected: (reason: Reason) => void
}

export function requestMetrics<Reason extends string>(
  registry: Registry,
  reasons: Iterable<Reason>,
): RequestMetrics<Reason> {
  const registers = [registry]
  const { counter, histogram } = metricsIn(registry)
  const help = 'Requests that were refused or could not be served, by reason'
  const rejected = counter('tidemark_http_rejected_total', help, ['reason'])
  // Starts at 0: if the first sample were 1, rate() and increase() would not count the first rejection.
  for (const reason of reasons) rejected.inc({ reason }, 0)
  return {
    duration: histogram(
      'tidemark_http_request_duration_seconds',
      'Duration from a request to the end of its response, or to its first part; _count is the number of requests',
      durationBucketsSeconds,
      ['route', 'method', 'status'],
    ),
    inFlight: new Gauge({ name: 'tidemark_http_requests_in_flight', help: 'Requests in progress', registers }),
    rejected: (reason) => rejected.inc({ reason }),
    slowReaders: counter(
      'tidemark_http_slow_readers_total',
      'Connections that were reset because their clients read too slowly',
    ),
  }
}

/** The routes that match the path, as @koa/router sets them. */
type Matched = { readonly matched?: readonly { readonly path: string | RegExp }[] }

/** For any method; undefined without a matching route, or before routing. */
export function routeOf({ matched }: Matched): string | undefined {
  const path = matched?.[0]?.path
  return path === undefined ? undefined : String(path)
}

/** More than Node's 10: several middlewares listen for the end of a response. */
const maxListeners = 20

/** Passes requests to a Koa app. If an answer cannot be sent, logs the first reason. */
export function listenerOf<State, Context>(app: Koa<State, Context>, log: Logger): RequestListener {
  const logged = new WeakSet<object>()
  const logUnsent = (error: unknown, ctx?: { readonly state: ObservedState }): void => {
    if (ctx !== undefined) {
      // The code that cuts an answer off emits the reason. Then Koa emits a second error, because the stream ended too early.
      if (logged.has(ctx)) return
      logged.add(ctx)
    }
    log.warn({ requestId: ctx?.state.requestId, err: error }, 'an answer could not be sent')
  }
  app.on('error', logUnsent)
  const handle = app.callback()
  return (request, response) => {
    response.setMaxListeners(maxListeners)
    handle(request, response).catch(logUnsent)
  }
}

type ObservedState = {
  requestId: string
  /** By `Prefer: wait`; not part of the duration. */
  readonly waitedMs?: () => number
  /** When the first part of a streamed answer was ready (`performance.now`). The duration ends here: the client decides how long the parts take. */
  readonly firstPartMs?: number
}

/**
 * Sets `X-Request-Id`, and measures and logs each request once its answer was sent or aborted. The log line contains no URL, header, parameter or body, which
 * may contain keys, sign-in tokens, sessions and personal data.
 */
export const observeRequests =
  <State extends ObservedState>(
    log: Logger,
    { duration, inFlight, slowReaders }: Pick<RequestMetrics<never>, 'duration' | 'inFlight' | 'slowReaders'>,
    furtherMembers: (state: State) => Readonly<Record<string, string | undefined>>,
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
      const beganMs = startedMs + (waitedMs ?? 0)
      inFlight.dec()
      duration.observe(
        { route: route ?? noRoute, method, status },
        ((ctx.state.firstPartMs ?? endedMs) - beganMs) / 1_000,
      )
      log.info(
        {
          requestId,
          method,
          route,
          status,
          durationMs: Math.round(endedMs - beganMs),
          ...(waitedMs !== undefined && { waitedMs: Math.round(waitedMs) }),
          ...furtherMembers(ctx.state),
          ...(!ctx.res.writableFinished && { aborted: true }),
          ...(isSlow && { slow: true }),
        },
        'request',
      )
    })
    return next()
  }
