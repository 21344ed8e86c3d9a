import { portOf, serve, stopServing } from '../core/process/httpServer.ts'
import type { Service, Started } from '../core/process/service.ts'
import { accountKeyStore } from '../core/stores/accountKeyStore.ts'
import { connectElasticsearchBytes } from '../core/stores/elasticsearch.ts'
import { engineCallMetrics, measureElasticsearch, measureRedis } from '../core/stores/engineCallMetrics.ts'
import { accountKeysAreComplete, redisAnswers } from '../core/stores/readinessChecks.ts'
import { connectRedis } from '../core/stores/redis.ts'
import { redisKeys } from '../core/stores/redisKeys.ts'
import { createApp } from './app.ts'
import { answerClientError } from './clientErrors.ts'
import { indexReaderOf } from './search/indexReader.ts'
import { probe } from './search/probe.ts'
import { openSearchClient } from './search/searchClient.ts'

const defaultPort = 3_000

/**
 * Builds the API with its live clients and listens on the configured port, also while an engine is away. What it opens is registered
 * with `release`, in the order in which it must outlast what follows.
 */
export async function startApi(
  { config, log, metrics, release }: Pick<Service, 'config' | 'log' | 'metrics' | 'release'>,
  nowMs: () => number = Date.now,
): Promise<Started & { readonly port: number }> {
  const calls = engineCallMetrics(metrics)
  const elasticsearch = connectElasticsearchBytes(config)
  measureElasticsearch(elasticsearch, calls)
  release('elasticsearch', () => elasticsearch.close())
  const redis = connectRedis(config.REDIS_URL ?? '', (error) => log.warn({ err: error }, 'redis'), {
    ca: config.REDIS_CA_FILE,
    onCommand: measureRedis(calls),
  })
  release('redis', () => redis.close())

  const replica = indexReaderOf(openSearchClient(elasticsearch, config.INDEX_PREFIX), config.DEEP_PAGE_FROM)
  const names = redisKeys(config.INDEX_PREFIX)
  const keys = accountKeyStore(redis, names)
  const listener = createApp({
    replica,
    redis,
    redisKeys: names,
    keys,
    baseUrl: config.BASE_URL ?? '/api/v1',
    requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
    nowMs,
    log,
    metrics,
  })
  const server = await serve(listener, { port: config.PORT ?? defaultPort, host: config.HOST }, answerClientError(log))
  release('server', () => stopServing(server))
  log.info({ port: portOf(server) }, 'listening')

  return {
    port: portOf(server),
    checks: {
      elasticsearch: async (signal) => await probe(replica, signal).then(() => undefined),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(keys),
    },
  }
}
