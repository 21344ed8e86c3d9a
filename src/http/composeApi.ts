import { probe } from '../queries/probe.ts'
import { openReplica } from '../queries/replica.ts'
import { connectElasticsearchRaw } from '../replica/elasticsearch.ts'
import { keyView } from '../replica/keyView.ts'
import { connectRedis } from '../replica/redis.ts'
import { redisKeys } from '../replica/redisKeys.ts'
import { portOf, serve, stopServing } from '../server.ts'
import type { Readiness, Service } from '../service.ts'
import { createApp } from './app.ts'
import { refuseUnreadable } from './unreadable.ts'

const defaultPort = 3_000
const probeDeadlineMs = 2_000

/**
 * Builds the API with its live clients and listens on the configured port, also while an engine is away. What it opens is registered
 * with `release`, in the order in which it must outlast what follows.
 */
export async function composeApi(
  { config, log, metrics, release }: Pick<Service, 'config' | 'log' | 'metrics' | 'release'>,
  nowMs: () => number = Date.now,
): Promise<{ readonly port: number; readonly readiness: Readiness }> {
  const elasticsearch = connectElasticsearchRaw(config)
  release('elasticsearch', () => elasticsearch.close())
  const redis = connectRedis(config.REDIS_URL ?? '', (error) => log.warn({ err: error }, 'redis'))
  release('redis', () => redis.close())

  const replica = openReplica(elasticsearch, config.INDEX_PREFIX, config.DEEP_PAGE_FROM)
  const names = redisKeys(config.INDEX_PREFIX)
  const keys = keyView(redis, names)
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
  const server = await serve(listener, config.PORT ?? defaultPort, refuseUnreadable(log))
  release('server', () => stopServing(server))
  log.info({ port: portOf(server) }, 'listening')

  const readiness = async (): Promise<string[]> => {
    const redisProblem = keys.isComplete().then(
      (isComplete) => (isComplete ? [] : ['the key view is not complete']),
      () => ['redis does not answer'],
    )
    const elasticsearchProblem = probe(replica, AbortSignal.timeout(probeDeadlineMs)).then(
      () => [],
      (error: Error) => [error.message],
    )
    return (await Promise.all([redisProblem, elasticsearchProblem])).flat()
  }
  return { port: portOf(server), readiness }
}
