import { type Client, errors } from '@elastic/elasticsearch'
import { ReplyError } from 'ioredis'
import { Counter, Histogram, type Registry } from 'prom-client'
import type { OnCommand } from './redis.ts'

const durationBucketsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

type EngineCallMetrics = ReturnType<typeof engineCallMetrics>

/** The metrics of a process's calls to Elasticsearch and Redis. */
export const engineCallMetrics = (registry: Registry) => ({
  duration: new Histogram({
    name: 'tidemark_engine_call_duration_seconds',
    help: 'Duration of calls to an engine, failed calls included',
    labelNames: ['engine', 'call'] as const,
    buckets: durationBucketsSeconds,
    registers: [registry],
  }),
  errors: new Counter({
    name: 'tidemark_engine_call_errors_total',
    help: 'Failed calls to an engine, by kind of failure',
    labelNames: ['engine', 'kind'] as const,
    registers: [registry],
  }),
})

/** Measures every request of a client. */
export function measureElasticsearch(client: Client, metrics: EngineCallMetrics): void {
  client.diagnostic.on('response', (error, result) => {
    const { duration, request } = result?.meta ?? {}
    const labels = { engine: 'elasticsearch', call: callOf(request?.params.path ?? '') }
    if (duration !== undefined) metrics.duration.observe(labels, duration / 1_000)
    if (error !== null) metrics.errors.inc({ engine: 'elasticsearch', kind: elasticsearchKind(error) })
  })
}

/** Measures every command of a client. */
export const measureRedis =
  (metrics: EngineCallMetrics): OnCommand =>
  (call, durationMs, error) => {
    metrics.duration.observe({ engine: 'redis', call }, durationMs / 1_000)
    if (error !== undefined) metrics.errors.inc({ engine: 'redis', kind: redisKind(error) })
  }

/** The Elasticsearch API in a path: `search` in `/a,b/_search`. Names of indices never begin with `_`. */
const callOf = (path: string): string => /\/_([a-z_]+)/.exec(path)?.[1] ?? 'index'

function elasticsearchKind(error: Error): string {
  if (error instanceof errors.TimeoutError) return 'timeout'
  if (error instanceof errors.RequestAbortedError) return 'aborted'
  if (error instanceof errors.ConnectionError || error instanceof errors.NoLivingConnectionsError) return 'connection'
  return error instanceof errors.ResponseError ? 'refused' : 'unreadable'
}

function redisKind(error: Error): string {
  if (error instanceof ReplyError) return 'refused'
  return error.message === 'Command timed out' ? 'timeout' : 'connection'
}
