import { type Client, errors } from '@elastic/elasticsearch'
import { BaseConnection } from '@elastic/transport'
import { ReplyError } from 'ioredis'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import type { KafkaSource } from '../kafka/source.ts'
import { metricsIn } from '../monitoring/metrics.ts'
import { AccountKeyStore } from '../redis/accountKeyStore.ts'
import type { OnCommand } from '../redis/redis.ts'
import type { ClientService, Service } from './lifecycle.ts'

export type Opening = Pick<Service, 'config' | 'engines' | 'log' | 'metrics' | 'release'>

export type Serving = Opening & Pick<ClientService, 'untilAble'>

/** Connects to Redis. Measures calls to it and to `elasticsearch`, and closes both at the end. */
export function openStores({ config, engines, log, metrics, release }: Opening, elasticsearch?: Client) {
  const calls = measureCalls(metrics)
  if (elasticsearch !== undefined) {
    calls.ofElasticsearch(elasticsearch)
    if (config.ELASTICSEARCH_URL.length > 1) logDeadNodes(elasticsearch, log)
    release('elasticsearch', () => elasticsearch.close())
  }
  const redis = engines.redis(config, (error) => log.warn({ err: error }, 'Redis connection error'), calls.ofRedis)
  release('redis', () => redis.close())
  return { redis, accountKeys: new AccountKeyStore(redis) }
}

/** The client alone would use another node, and report nothing. */
function logDeadNodes({ connectionPool: pool }: Client, log: Logger): void {
  const markDead = pool.markDead.bind(pool)
  pool.markDead = (node) => {
    if (node.status === BaseConnection.statuses.ALIVE)
      log.warn({ node: node.id }, 'a node of Elasticsearch does not answer well')
    return markDead(node)
  }
}

/** Clients of Kafka, closed when the process ends. */
export function openKafka({ config, engines, log, release }: Omit<Opening, 'metrics'>) {
  const kafka = engines.kafka(config, log)
  release('kafka sink', () => kafka.sink.disconnect())
  const openSource = (): KafkaSource => {
    const source = kafka.openSource()
    release('kafka source', () => source.close())
    return source
  }
  return { openSource, sink: kafka.sink }
}

const bucketsSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** The metrics of calls to engines. */
export function measureCalls(registry: Registry) {
  const { counter, histogram } = metricsIn(registry)
  const durations = histogram(
    'tidemark_engine_call_duration_seconds',
    'Duration of calls to an engine, failed calls included',
    bucketsSeconds,
    ['engine', 'call'],
  )
  const errorCounter = counter('tidemark_engine_call_errors_total', 'Failed calls to an engine, by kind of failure', [
    'engine',
    'kind',
  ])
  const ofElasticsearch = ({ diagnostic }: Client): void => {
    const engine = 'elasticsearch'
    diagnostic.on('response', (error, result) => {
      const { duration, request } = result?.meta ?? {}
      if (duration !== undefined)
        durations.observe({ engine, call: callOf(request?.params.path ?? '') }, duration / 1_000)
      if (error !== null) errorCounter.inc({ engine, kind: elasticsearchKind(error) })
    })
  }
  const ofRedis: OnCommand = (call, durationMs, error) => {
    durations.observe({ engine: 'redis', call }, durationMs / 1_000)
    if (error !== undefined) errorCounter.inc({ engine: 'redis', kind: redisKind(error) })
  }
  return { ofElasticsearch, ofRedis }
}

/** `search` of `/a,b/_search`, `index` of `/a`. Index names never begin with `_`. */
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
