import { type RequestListener, STATUS_CODES } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import { type Refuse, refuseAndLog, statusOf } from '../core/process/clientErrors.ts'
import { contentSecurityPolicy } from '../core/process/html.ts'
import type { Service } from '../core/process/lifecycle.ts'
import { observeRequests, requestMetrics } from '../core/process/requestLog.ts'
import { respondWithFile } from '../core/process/staticFile.ts'
import type { RedisConnection } from '../core/stores/redis.ts'
import type { AccountKeyManager } from './accountKeyManager.ts'
import { errors, rejectionReasons, settingsError } from './errors.ts'
import { keyRoutes } from './keyRoutes.ts'
import { assets, chooseLanguage, type SettingsMiddleware, type SettingsState } from './respond.ts'
import { createSessions, requireSameOrigin } from './sessions.ts'
import { signInRoutes, tokenVerifier, usedTokens } from './signIn.ts'

/** Sent with every answer. With the referrer policy `no-referrer`, browsers would send `Origin: null` with every form. */
const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy({ 'form-action': "'self'" }),
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** The settings area as a listener for Node's HTTP server. `origin` is where browsers reach it. */
export function createSettingsApp(
  { config, log, metrics }: Pick<Service, 'config' | 'log' | 'metrics'>,
  origin: string,
  keys: AccountKeyManager,
  redis: RedisConnection,
  nowMs: () => number,
): RequestListener {
  const isSecure = origin.startsWith('https:')
  const requests = requestMetrics(metrics, rejectionReasons)
  const sessions = createSessions(redis, isSecure)
  const signIn = signInRoutes(tokenVerifier(config, nowMs), usedTokens(redis, nowMs), sessions)
  const manageKeys = keyRoutes(keys, sessions, nowMs)
  const reportUnsent = (error: unknown, ctx?: { readonly state: SettingsState }): void =>
    log.warn({ requestId: ctx?.state.requestId, err: error }, 'an answer could not be sent')
  const app = new Koa<SettingsState>()
  app.on('error', reportUnsent)
  const handle = app
    .use(observeRequests<SettingsState>(log, requests, ({ session }) => ({ teamId: session?.team })))
    .use(chooseLanguage(isSecure))
    .use(errors(log, config.SIGN_IN_PAGE, requests.rejected))
    .use(setSecurityHeaders)
    .use(serveAssets)
    .use(requireSameOrigin(origin))
    .use(signIn.routes())
    .use(manageKeys.routes())
    .use(rejectUnrouted)
    .callback()
  return (request, response) => {
    handle(request, response).catch(reportUnsent)
  }
}

const headersOfClientErrors = { ...securityHeaders, 'Content-Type': 'text/plain; charset=utf-8' }

/** Answers what the HTTP server could not read as a request, and logs it. No browser sends such bytes, so that plain text will do. */
export const answerClientError = (log: Logger): Refuse =>
  refuseAndLog(log, headersOfClientErrors, 'GET, HEAD, POST', (reason) => `${STATUS_CODES[statusOf[reason]]}\n`)

const setSecurityHeaders: SettingsMiddleware = (ctx, next) => {
  ctx.set(securityHeaders)
  return next()
}

const serveAssets: SettingsMiddleware = (ctx, next) => {
  const file = ctx.method === 'GET' || ctx.method === 'HEAD' ? assets.files.get(ctx.path) : undefined
  return file === undefined ? next() : respondWithFile(ctx, file)
}

type Matched = { readonly matched?: readonly { readonly methods: readonly string[] }[] }

/** Ends a request that no route handled with 404, or with 405 when its path has routes of other methods. */
const rejectUnrouted: SettingsMiddleware = (ctx) => {
  const { matched = [] }: Matched = ctx
  const allowed = new Set(matched.flatMap(({ methods }) => methods))
  if (allowed.size === 0) throw settingsError('not-found')
  throw settingsError('method-not-allowed', { headers: { Allow: [...allowed].join(', ') } })
}
