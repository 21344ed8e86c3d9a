import type { RequestListener } from 'node:http'
import Koa from 'koa'
import { accountKeysAreComplete, isolatedNodesAnswerNothing, redisAnswers } from '../core/engines/readinessChecks.ts'
import { portOf, serve, stopServing } from '../core/http/httpServer.ts'
import { listenerOf, observeRequests, requestMetrics } from '../core/http/requestLog.ts'
import { usualPatienceMs } from '../core/http/slowReaders.ts'
import { passed } from '../core/monitoring/health.ts'
import { serviceCommand } from '../core/process/lifecycle.ts'
import { type Opening, openStores, type Serving } from '../core/process/openStores.ts'
import { countRequests } from '../core/redis/countRequests.ts'
import { findKeys, shareLookups } from '../core/redis/keyLookups.ts'
import { countKeyUse, type KeyUse } from '../core/redis/keyUse.ts'
import { readVersionsOf } from '../core/redis/listVersions.ts'
import { AnswerCache } from './answerCache.ts'
import { authenticate, countUse, createRecheck, watchKeys } from './authenticate.ts'
import type { ApiMiddleware, ApiState, RouteDeps, RouteState } from './context.ts'
import { answerClientError, errors, rejectionReasons } from './errors.ts'
import { createStreams, streamQueues } from './exports.ts'
import type { FairQueue } from './fairQueue.ts'
import { describeApi } from './openapi/openapi.ts'
import { docsRoutes, frontPage, pageRoutes } from './pages/pages.ts'
import { parameterReader } from './parameters.ts'
import { answerQueue, queueQueries } from './queryQueue.ts'
import { limitRequestsInFlight } from './requestsInFlight.ts'
import { normalizeRequest, options, otherMethods, routes, unrouted } from './routes.ts'
import { createIndexReader, probe } from './search/indexReader.ts'
import { readPrimaries } from './search/readPrimaries.ts'
import { openSearchClient } from './search/searchClient.ts'
import { createVisibleLists } from './visibleLists.ts'
import { createWaiting, WaitingRoom } from './waiting.ts'

const defaultPort = 3_000
/** How far behind a client may be in reading its answer before it is reset (`slowReaders.ts`). */
const patienceWhenFullMs = 30_000

/** Listens once the readiness checks pass, or after three seconds. */
export async function startApi(service: Serving, nowMs: () => number = Date.now, elapsedMs?: () => number) {
  const { config, log, release } = service
  const { listener, patienceMs, checks, close } = assembleApi(service, nowMs, elapsedMs)
  await service.untilAble(checks)
  const address = { port: config.PORT ?? defaultPort, host: config.HOST }
  const server = await serve(listener, address, answerClientError(log), patienceMs)
  release('server', () => stopServing(server, config.DRAIN_MS))
  release('waiting requests', async () => close())
  log.info({ port: portOf(server) }, 'listening')
  return { port: portOf(server), checks }
}

/** `elapsedMs`: a monotonic clock. The returned `close` ends the requests that wait for a change. */
export function assembleApi(service: Opening, nowMs: () => number, elapsedMs: () => number = () => performance.now()) {
  const { config, engines, metrics } = service
  const elasticsearch = engines.elasticsearch(config)
  const { redis, accountKeys } = openStores(service, elasticsearch)
  const keyUse = countKeyUse(redis, nowMs, Math.random)
  // Releases run last in, first out: the last counts reach Redis before it is closed.
  service.release('use of keys', () => keyUse.share())
  const search = readPrimaries(openSearchClient(elasticsearch, config.INDEX_PREFIX, config.INDEX_ANSWERS), elapsedMs)
  const indexReader = createIndexReader(search, config.DEEP_PAGE_FROM)
  const room = new WaitingRoom((lists) => readVersionsOf(redis, lists), elapsedMs, metrics)
  const watchKey = watchKeys((digests) => findKeys(redis, digests), nowMs)
  const lookUp = shareLookups(redis, countRequests(redis, config.RATE_LIMIT_PER_MINUTE))
  const authentication = authenticate(lookUp, config.RATE_LIMIT_PER_MINUTE, nowMs)
  const answerMemory = answerQueue()
  const streams = streamQueues()
  const listener = listen(service, keyUse, authentication, answerMemory, {
    indexReader,
    readParameters: parameterReader(metrics),
    startStream: createStreams(watchKey, streams),
    waitForChange: createWaiting({ room, checkAgain: createRecheck(lookUp, nowMs), watchKey, elapsedMs }),
    baseUrl: config.BASE_URL ?? '/api/v1',
    nowMs,
    answers: new AnswerCache(config.ANSWER_CACHE_BYTES, metrics),
    visibleLists: createVisibleLists(redis),
    keyUse,
  })
  return {
    listener,
    patienceMs: () =>
      [answerMemory, ...Object.values(streams)].some(({ usedFraction }) => usedFraction > 1 / 2)
        ? patienceWhenFullMs
        : usualPatienceMs,
    close: () => room.close(),
    checks: {
      elasticsearch: (signal: AbortSignal) => probe(indexReader, signal).then(() => passed),
      cluster: isolatedNodesAnswerNothing(elasticsearch),
      redis: redisAnswers(redis),
      'account keys': accountKeysAreComplete(accountKeys),
    },
  }
}

export const command = serviceCommand({
  name: 'api',
  needs: ['ELASTICSEARCH_URL', 'REDIS_URL'],
  port: defaultPort,
  adminPort: 9_101,
  start: startApi,
})

function listen(
  service: Opening,
  keyUse: KeyUse,
  authentication: ApiMiddleware,
  answerMemory: FairQueue,
  deps: RouteDeps,
): RequestListener {
  const { log } = service
  const metrics = requestMetrics(service.metrics, rejectionReasons)
  const app = new Koa<ApiState>()
    .use(
      observeRequests<ApiState>(log, metrics, ({ accountKey }) => ({
        teamId: accountKey?.teamId,
        keyId: accountKey?.keyId,
      })),
    )
    .use(errors(log, metrics.rejected))
    .use(limitRequestsInFlight())
    .use(normalizeRequest)
    .use(options)
    .use(frontPage(deps.baseUrl))
    .use(docsRoutes(describeApi(deps.baseUrl)).routes())
    .use(pageRoutes().routes())
    .use(otherMethods)
    .use(countUse(keyUse))
    .use<RouteState>(authentication)
    .use(queueQueries(answerMemory))
    .use(routes(deps).routes())
    .use(unrouted)
  return listenerOf(app, log)
}
