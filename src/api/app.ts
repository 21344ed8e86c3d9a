import type { RequestListener } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { observeRequests, requestMetrics } from '../core/process/requests.ts'
import type { AccountKeyStore } from '../core/stores/accountKeyStore.ts'
import { recordKeyUse } from '../core/stores/keyLastUse.ts'
import type { RedisConnection } from '../core/stores/redis.ts'
import type { RedisKeys } from '../core/stores/redisKeys.ts'
import { admitRequests } from './admission.ts'
import { AnswerCache } from './answerCache.ts'
import { authenticate, createHolderLookup, createRecheck, createUseRecorder, keyDigestOf } from './authenticate.ts'
import { compressStreams } from './compression.ts'
import type { ApiMiddleware, ApiState, RouteState, WatchKey } from './context.ts'
import { errors, privateHeaders, rejectionReasons } from './errors.ts'
import { createStreams } from './exports.ts'
import type { KeyWatch } from './keyWatch.ts'
import { publicRoutes } from './openapi/docsPage.ts'
import { describeApi } from './openapi/openapi.ts'
import { parameterReader } from './parameters.ts'
import { queueQueries } from './queryQueue.ts'
import { countRequest, createLimiter } from './rateLimit.ts'
import { normalizeRequest, options, otherMethods, routes, unrouted } from './routes.ts'
import type { IndexReader } from './search/indexReader.ts'
import { createWaiting } from './waiting/waitForChange.ts'
import type { WaitingRoom } from './waiting/waitingRoom.ts'

type ApiDeps = {
  readonly indexReader: IndexReader
  readonly redis: RedisConnection
  readonly redisKeys: RedisKeys
  readonly accountKeys: Pick<AccountKeyStore, 'lookup'>
  readonly requestsPerMinute: number
  /** How much memory kept answers may take; 0 keeps none. */
  readonly answerCacheBytes: number
  /** The public URL of the API. */
  readonly baseUrl: string
  readonly waitingRoom: WaitingRoom
  readonly keyWatch: KeyWatch
  readonly nowMs: () => number
  /** Time that never steps. */
  readonly elapsedMs: () => number
  readonly log: Logger
  readonly metrics: Registry
}

/** Several middlewares listen for the end of a response, and so do Koa and the compressor. */
const maxListeners = 20

/** The API as a request listener. Its middlewares check a request in the order in which they stand here. */
export function createApp(deps: ApiDeps): RequestListener {
  const { log, baseUrl, indexReader } = deps
  const metrics = requestMetrics(deps.metrics, rejectionReasons)
  const watchKey: WatchKey = (ctx, onRefused) => deps.keyWatch.watch(keyDigestOf(ctx), ctx.state.holder, onRefused)
  const router = routes({
    indexReader,
    readParameters: parameterReader(deps.metrics),
    ...createStreams(watchKey),
    waitForChange: createWaiting({
      room: deps.waitingRoom,
      checkAgain: createRecheck(deps.accountKeys, deps.nowMs),
      watchKey,
      elapsedMs: deps.elapsedMs,
    }),
    baseUrl,
    nowMs: deps.nowMs,
    answers: new AnswerCache(deps.answerCacheBytes, deps.metrics),
  })
  const app = new Koa<ApiState>()
  const logUnsent = (error: unknown, ctx?: { readonly state: ApiState }): void =>
    log.warn({ requestId: ctx?.state.requestId, err: error }, 'an answer could not be sent')
  app.on('error', logUnsent)
  const handle = app
    .use(observeRequests<ApiState>(log, metrics, ({ holder }) => ({ teamId: holder?.teamId, keyId: holder?.keyId })))
    .use(errors(log, metrics.rejected))
    .use((ctx, next) => {
      ctx.set(privateHeaders)
      return next()
    })
    .use(admitRequests())
    .use(normalizeRequest)
    .use(options)
    .use(publicRoutes(describeApi(baseUrl)).routes())
    .use(otherMethods)
    .use<RouteState>(authentication(deps))
    .use(queueQueries())
    .use(compressStreams())
    .use(router.routes())
    .use(unrouted)
    .callback()
  return (request, response) => {
    response.setMaxListeners(maxListeners)
    handle(request, response).catch(logUnsent)
  }
}

function authentication({ redis, redisKeys, accountKeys, requestsPerMinute, nowMs }: ApiDeps): ApiMiddleware {
  const limiter = createLimiter(redis.client, redisKeys, requestsPerMinute)
  return authenticate({
    lookUpHolder: createHolderLookup(accountKeys, (holder) => countRequest(limiter, holder), nowMs),
    requestsPerMinute,
    recordUse: createUseRecorder(
      ({ teamId, keyId }, minuteMs) => recordKeyUse(redis, redisKeys, teamId, keyId, minuteMs),
      nowMs,
    ),
  })
}
