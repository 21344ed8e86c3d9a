import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { portOf, serve, stopServing } from '../core/process/httpServer.ts'
import type { Service, Started } from '../core/process/service.ts'
import { readHolders } from '../core/stores/accountKeyStore.ts'
import { readListVersions, readVersionsOf } from '../core/stores/listVersions.ts'
import { openStores } from '../core/stores/openStores.ts'
import { accountKeysAreComplete, isolatedNodesAnswerNothing, redisAnswers } from '../core/stores/readinessChecks.ts'
import { fromRedis } from '../core/stores/redis.ts'
import { createApp } from './app.ts'
import { answerClientError } from './errors.ts'
import { KeyWatch } from './keyWatch.ts'
import { createIndexReader, probe } from './search/indexReader.ts'
import { readPrimaries } from './search/readPrimaries.ts'
import { openSearchClient } from './search/searchClient.ts'
import { WaitingRoom } from './waiting/waitingRoom.ts'

/** The port it listens on unless it is told another one. */
export const defaultPort = 3_000

type ApiService = Pick<Service, 'config' | 'engines' | 'log' | 'metrics' | 'release'>

/**
 * Connects the API's clients and listens on the configured port, also while an engine is unreachable. Everything that is opened is
 * registered with `release`; it is closed in reverse order.
 */
export async function startApi(
  service: ApiService,
  nowMs: () => number = Date.now,
  elapsedMs?: () => number,
): Promise<Started & { readonly port: number }> {
  const { config, log, release } = service
  const { listener, checks, close } = openApi(service, nowMs, elapsedMs)
  const server = await serve(listener, { port: config.PORT ?? defaultPort, host: config.HOST }, answerClientError(log))
  release('server', () => stopServing(server))
  release('waiting requests', async () => close())
  log.info({ port: portOf(server) }, 'listening')
  return { port: portOf(server), checks }
}

/** Connects the API's clients; `elapsedMs` is time that never steps. `listener` answers requests until `close`, which ends those that wait for a change. */
export function openApi(
  service: ApiService,
  nowMs: () => number,
  elapsedMs: () => number = () => performance.now(),
): Pick<Started, 'checks'> & { readonly listener: RequestListener; close(): void } {
  const { config, engines, log, metrics } = service
  const elasticsearch = engines.elasticsearchBytes(config)
  const { redis, redisKeys, accountKeys } = openStores(service, elasticsearch)
  const search = readPrimaries(
    openSearchClient(elasticsearch, config.INDEX_PREFIX),
    async (type, teamId) => {
      const { settled, watermark } = await fromRedis(readListVersions(redis, redisKeys, teamId, randomUUID))
      return { isSettled: settled[type], watermark }
    },
    nowMs,
  )
  const indexReader = createIndexReader(search, config.DEEP_PAGE_FROM)
  const waitingRoom = new WaitingRoom({
    readVersions: (lists) => readVersionsOf(redis, redisKeys, lists),
    elapsedMs,
    repeat,
    registry: metrics,
  })
  const keyWatch = new KeyWatch({ readHolders: (digests) => readHolders(redis, redisKeys, digests), nowMs, repeat })
  const listener = createApp({
    indexReader,
    redis,
    redisKeys,
    accountKeys,
    baseUrl: config.BASE_URL ?? '/api/v1',
    requestsPerMinute: config.RATE_LIMIT_PER_MINUTE,
    answerCacheBytes: config.ANSWER_CACHE_BYTES,
    waitingRoom,
    keyWatch,
    nowMs,
    elapsedMs,
    log,
    metrics,
  })
  return {
    listener,
    close: () => waitingRoom.close(),
    checks: {
      elasticsearch: async (signal) => await probe(indexReader, signal).then(() => undefined),
      cluster: isolatedNodesAnswerNothing(elasticsearch),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(accountKeys),
    },
  }
}

function repeat(tick: () => void, everyMs: number): () => void {
  const timer = setInterval(tick, everyMs)
  return () => clearInterval(timer)
}
