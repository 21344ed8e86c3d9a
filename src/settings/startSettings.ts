import { type RequestListener, STATUS_CODES } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import { accountKeysAreComplete, kafkaAnswers, redisAnswers } from '../core/engines/readinessChecks.ts'
import { type Refuse, refuseAndLog, statusOf } from '../core/http/clientErrors.ts'
import { portOf, serve, stopServing } from '../core/http/httpServer.ts'
import { listenerOf, observeRequests, requestMetrics } from '../core/http/requestLog.ts'
import { respondWithFile } from '../core/pages/staticFile.ts'
import { serviceCommand } from '../core/process/lifecycle.ts'
import { type Opening, openKafka, openStores, type Serving } from '../core/process/openStores.ts'
import { readKeyUse } from '../core/redis/readKeyUse.ts'
import type { RedisConnection } from '../core/redis/redis.ts'
import { AccountKeyManager } from './accountKeyManager.ts'
import { errors, rejectionReasons, securityHeaders, settingsError } from './errors.ts'
import { type KeyRoutesDeps, keyRoutes } from './keyRoutes.ts'
import { changeKeeper, readChanges } from './recentChanges.ts'
import { assets, chooseLanguage, type SettingsMiddleware, type SettingsState } from './respond.ts'
import { createSessions, requireSameOrigin } from './sessions.ts'
import { signInRoutes, tokenVerifier, usedTokens } from './signIn.ts'
import { type CompleteUnread, unreadChanges } from './unreadChanges.ts'

const defaultPort = 3_001

/** Listens once the checks pass, or after three seconds: also while an engine is unreachable. */
export async function startSettings(service: Serving, nowMs: () => number = Date.now) {
  const { config, log, release } = service
  const { redis, accountKeys: store } = openStores(service)
  const { openSource, sink } = openKafka(service)
  const source = openSource()
  const checks = {
    kafka: kafkaAnswers(source),
    redis: redisAnswers(redis),
    'account keys': accountKeysAreComplete(store),
  }
  await service.untilAble(checks)

  const keys = new AccountKeyManager({ store, sink, topics: config, keepChange: changeKeeper(redis, log), log, nowMs })
  const server = await serve(
    (request, response) => app(request, response),
    { port: config.PORT ?? defaultPort, host: config.HOST },
    answerClientError(log),
  )
  release('server', () => stopServing(server, config.DRAIN_MS))
  const port = portOf(server)
  // Only now, because the origin contains the port, which the system may have chosen.
  const origin = config.SETTINGS_URL ?? `http://127.0.0.1:${port}`
  const app = assembleApp(service, origin, keys, unreadChanges(store, keys, nowMs), redis, nowMs)
  log.info({ port }, 'listening')

  return { port, checks }
}

export const command = serviceCommand({
  name: 'settings',
  needs: ['KAFKA_BROKERS', 'REDIS_URL', 'sign-in'],
  port: defaultPort,
  adminPort: 9_103,
  start: startSettings,
})

function assembleApp(
  { config, log, metrics }: Opening,
  origin: string,
  keys: AccountKeyManager,
  completeUnread: CompleteUnread,
  redis: RedisConnection,
  nowMs: () => number,
): RequestListener {
  const isSecure = origin.startsWith('https:')
  const requests = requestMetrics(metrics, rejectionReasons)
  const sessions = createSessions(redis, isSecure)
  const routeDeps: KeyRoutesDeps = {
    ...{ keys, completeUnread, log, nowMs },
    readChanges: (team) => readChanges(redis, team),
    readUse: (team, keyIds, atMs) => readKeyUse(redis, team, keyIds, atMs),
  }
  const signIn = signInRoutes(tokenVerifier(config, nowMs), usedTokens(redis), sessions)
  const app = new Koa<SettingsState>()
    .use(observeRequests<SettingsState>(log, requests, ({ session }) => ({ teamId: session?.team })))
    .use(chooseLanguage(isSecure))
    .use(errors(log, config.SIGN_IN_PAGE, requests.rejected))
    .use(serveAssets)
    .use(requireSameOrigin(origin))
    .use(signIn.routes())
    .use(keyRoutes(sessions, routeDeps).routes())
    .use(rejectUnrouted)
  return listenerOf(app, log)
}

const headersOfClientErrors = { ...securityHeaders, 'Content-Type': 'text/plain; charset=utf-8' }

/** In plain text, because no browser sends such bytes. */
const answerClientError = (log: Logger): Refuse =>
  refuseAndLog(log, headersOfClientErrors, 'GET, HEAD, POST', (reason) => `${STATUS_CODES[statusOf[reason]]}\n`)

const serveAssets: SettingsMiddleware = (ctx, next) => {
  const file = ctx.method === 'GET' || ctx.method === 'HEAD' ? assets.files.get(ctx.path) : undefined
  return file === undefined ? next() : respondWithFile(ctx, file)
}

/** 405 if the path exists for other methods, otherwise 404. */
const rejectUnrouted: SettingsMiddleware = (ctx) => {
  const allowed = new Set(ctx.matched?.flatMap(({ methods }) => methods))
  if (allowed.size === 0) throw settingsError('not-found')
  throw settingsError('method-not-allowed', { headers: { Allow: [...allowed].join(', ') } })
}
