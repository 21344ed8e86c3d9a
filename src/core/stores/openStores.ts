import type { Client } from '@elastic/elasticsearch'
import type { KafkaSink } from '../kafka/sink.ts'
import type { KafkaSource } from '../kafka/source.ts'
import type { Service } from '../process/service.ts'
import { type AccountKeyStore, accountKeyStore } from './accountKeyStore.ts'
import { engineCallMetrics, measureElasticsearch, measureRedis } from './engineCallMetrics.ts'
import type { RedisConnection } from './redis.ts'
import { type RedisKeys, redisKeys } from './redisKeys.ts'

/**
 * Opens Redis, and takes over the Elasticsearch client of a process that has one: calls of both are measured, and both are closed
 * at the end. Nothing waits for an engine: the clients connect by themselves, also later.
 */
export function openStores(
  { config, engines, log, metrics, release }: Pick<Service, 'config' | 'engines' | 'log' | 'metrics' | 'release'>,
  elasticsearch?: Client,
): { readonly redis: RedisConnection; readonly redisKeys: RedisKeys; readonly accountKeys: AccountKeyStore } {
  const calls = engineCallMetrics(metrics)
  if (elasticsearch !== undefined) {
    measureElasticsearch(elasticsearch, calls)
    release('elasticsearch', () => elasticsearch.close())
  }
  const redis = engines.redis(
    config,
    (error) => log.warn({ err: error }, 'Redis connection error'),
    measureRedis(calls),
  )
  release('redis', () => redis.close())
  const keys = redisKeys(config.INDEX_PREFIX)
  return { redis, redisKeys: keys, accountKeys: accountKeyStore(redis, keys) }
}

/** Opens Kafka. Sources are closed when the process ends; the sink's owner connects and disconnects it. */
export function openKafka({ config, engines, log, release }: Pick<Service, 'config' | 'engines' | 'log' | 'release'>): {
  openSource(): KafkaSource
  readonly sink: KafkaSink
} {
  const kafka = engines.kafka(config, log)
  const openSource = (): KafkaSource => {
    const source = kafka.openSource()
    release('kafka source', () => source.close())
    return source
  }
  return { openSource, sink: kafka.sink }
}
