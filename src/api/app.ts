import type { RequestListener } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { randomToken } from '../core/model/ids.ts'
import { requestLog } from '../core/process/requestLog.ts'
import { measure } from '../core/process/requestMetrics.ts'
import type { AccountKeyStore, KeyHolder } from '../core/stores/accountKeyStore.ts'
import { recordKeyUse } from '../core/stores/keyLastUse.ts'
import { readListVersions } from '../core/stores/listVersions.ts'
import type { RedisConnection } from '../core/stores/redis.ts'
import type { RedisKeys } from '../core/stores/redisKeys.ts'
import { acceptedTypes } from './acceptedTypes.ts'
import { admitRequests, admitTeams } from './admission.ts'
import { authenticate } from './authenticate.ts'
import { compression } from './compression.ts'
import type { ApiState, KeyHolderState, RouteState } from './context.ts'
import { errors } from './errors.ts'
import { createExports } from './exports.ts'
import { lastUse } from './lastUse.ts'
import { countRequest, createLimiter, limit } from './limit.ts'
import { options, otherMethods, unrouted } from './methods.ts'
import { apiMetrics } from './metrics.ts'
import { describeApi } from './openapi/openapi.ts'
import { publicRoutes } from './openapi/publicRoutes.ts'
import { parameterReader } from './parameters.ts'
import { privateCaching } from './privateAnswers.ts'
import { queueQueries } from './queryQueue.ts'
import { requestTarget } from './requestTarget.ts'
import { routes } from './routes.ts'
import type { IndexReader } from './search/indexReader.ts'

/** What the API answers from. */
export type ApiDeps = {
  readonly replica: IndexReader
  readonly redis: RedisConnection
  readonly redisKeys: RedisKeys
  readonly keys: Pick<AccountKeyStore, 'lookup'>
  readonly requestsPerMinute: number
  /** Where clients reach the API. */
  readonly baseUrl: string
  readonly nowMs: () => number
  readonly log: Logger
  readonly metrics: Registry
}

/** Each part hears of the end of an answer by itself, and so do Koa and the compressor. */
const maxListeners = 20

/** The API as a listener for Node's server; the order of its parts is the order in which a request is judged. */
export function createApp(needs: ApiDeps): RequestListener {
  const metrics = apiMetrics(needs.metrics)
  const router = routes({
    replica: needs.replica,
    readParameters: parameterReader(metrics.ignoredParameters),
    startExport: createExports(),
  })
  const limiter = createLimiter(needs.redis.client, needs.redisKeys, needs.requestsPerMinute)
  const askOfHolder = (holder: KeyHolder): KeyHolderState => {
    const freshness = readListVersions(needs.redis, needs.redisKeys, holder.teamId, randomToken)
    const counted = countRequest(limiter, holder)
    // Whoever needs them hears of their failure; a refused request does not need them.
    for (const asked of [freshness, counted]) asked.catch(() => undefined)
    return { freshness, counted }
  }
  const app = new Koa<ApiState>()
  const reportUnsent = (error: unknown, ctx?: { readonly state: ApiState }): void =>
    needs.log.warn({ requestId: ctx?.state.requestId, err: error }, 'an answer could not be sent')
  app.on('error', reportUnsent)
  const answer = app
    .use(requestLog<ApiState>(needs.log, ({ holder }) => ({ teamId: holder?.teamId, keyId: holder?.keyId })))
    .use(errors(needs.log, metrics.requests.rejected))
    .use(measure<ApiState>(metrics.requests))
    .use(privateCaching)
    .use(admitRequests())
    .use(requestTarget)
    .use(acceptedTypes)
    .use(options)
    .use(publicRoutes(describeApi(needs.baseUrl)).routes())
    .use(otherMethods)
    .use<RouteState>(authenticate(needs.keys, askOfHolder, needs.nowMs))
    .use(admitTeams())
    .use(
      lastUse(
        ({ teamId, keyId }, nowMs) => recordKeyUse(needs.redis, needs.redisKeys, teamId, keyId, nowMs),
        needs.nowMs,
      ),
    )
    .use(limit(limiter))
    .use(queueQueries())
    .use(compression())
    .use(router.routes())
    .use(unrouted)
    .callback()
  return (request, response) => {
    response.setMaxListeners(maxListeners)
    answer(request, response).catch(reportUnsent)
  }
}
