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
import { createIndexReader } from './search/indexReader.ts'
import { probe } from './search/probe.ts'
import { openSearchClient } from './search/searchClient.ts'

const defaultPort = 3_000

/**
 * Connects the API's clients and listens on the configured port, also while an engine is unreachable. Everything that is opened is
 * registered with `release`; it is closed in reverse order.
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

  const indexReader = createIndexReader(openSearchClient(elasticsearch, config.INDEX_PREFIX), config.DEEP_PAGE_FROM)
  const keyNames = redisKeys(config.INDEX_PREFIX)
  const accountKeys = accountKeyStore(redis, keyNames)
  const listener = createApp({
    indexReader,
    redis,
    redisKeys: keyNames,
    accountKeys,
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
      elasticsearch: async (signal) => await probe(indexReader, signal).then(() => undefined),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(accountKeys),
    },
  }
}
