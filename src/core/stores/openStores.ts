import type { Client } from '@elastic/elasticsearch'
import type { Service } from '../process/service.ts'
import { type AccountKeyStore, accountKeyStore } from './accountKeyStore.ts'
import { engineCallMetrics, measureElasticsearch, measureRedis } from './engineCallMetrics.ts'
import { connectConfiguredRedis, type RedisConnection } from './redis.ts'
import { type RedisKeys, redisKeys } from './redisKeys.ts'

/**
 * Opens Redis, and takes over the Elasticsearch client of a process that has one: calls of both are measured, and both are closed
 * at the end. Nothing waits for an engine: the clients connect by themselves, also later.
 */
export function openStores(
  { config, log, metrics, release }: Pick<Service, 'config' | 'log' | 'metrics' | 'release'>,
  elasticsearch?: Client,
): { readonly redis: RedisConnection; readonly redisKeys: RedisKeys; readonly accountKeys: AccountKeyStore } {
  const calls = engineCallMetrics(metrics)
  if (elasticsearch !== undefined) {
    measureElasticsearch(elasticsearch, calls)
    release('elasticsearch', () => elasticsearch.close())
  }
  const redis = connectConfiguredRedis(
    config,
    (error) => log.warn({ err: error }, 'Redis connection error'),
    measureRedis(calls),
  )
  release('redis', () => redis.close())
  const keys = redisKeys(config.INDEX_PREFIX)
  return { redis, redisKeys: keys, accountKeys: accountKeyStore(redis, keys) }
}
