import { randomUUID } from 'node:crypto'
import { type RequestListener, STATUS_CODES } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import { type Refuse, refusal, statusOf } from '../core/process/clientErrors.ts'
import { contentSecurityPolicy } from '../core/process/html.ts'
import { observeRequests, requestMetrics } from '../core/process/requests.ts'
import { readAssets, respondWithFile, type StaticFile } from '../core/process/staticFile.ts'
import type { SettingsMiddleware, SettingsState } from './context.ts'
import { sessionCookie } from './cookies.ts'
import type { SettingsDeps } from './deps.ts'
import { errors, rejectionReasons, settingsError } from './errors.ts'
import { keyRoutes } from './keyRoutes.ts'
import { chooseLanguage } from './language.ts'
import { requireSameOrigin, requireSession } from './requireSession.ts'
import { pageResponder } from './respond.ts'
import { signInRoutes } from './signIn/routes.ts'

/** Sent with every answer. With the referrer policy `no-referrer`, browsers would send `Origin: null` with every form. */
const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy({ 'form-action': "'self'" }),
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** The settings area as a listener for Node's HTTP server. */
export function createSettingsApp(deps: SettingsDeps): RequestListener {
  const { origin, sessions, log } = deps
  const isSecure = origin.startsWith('https:')
  const requests = requestMetrics(deps.metrics, rejectionReasons)
  const assets = readAssets(new URL('assets/', import.meta.url), 'settings')
  const respondWithPage = pageResponder(assets.paths)
  const cookie = sessionCookie(isSecure)
  const routeDeps = { ...deps, cookie, respondWithPage, requireSession: requireSession(sessions, cookie) }
  const app = new Koa<SettingsState>()
  const reportUnsent = (error: unknown, ctx?: { readonly state: SettingsState }): void =>
    log.warn({ requestId: ctx?.state.requestId, err: error }, 'an answer could not be sent')
  app.on('error', reportUnsent)
  const handle = app
    .use(observeRequests<SettingsState>(log, requests, ({ session }) => ({ teamId: session?.team })))
    .use(chooseLanguage(isSecure))
    .use(errors(log, respondWithPage, deps.signInPage, requests.rejected))
    .use(setSecurityHeaders)
    .use(serveAssets(assets.files))
    .use(requireSameOrigin(origin))
    .use(signInRoutes(routeDeps).routes())
    .use(keyRoutes(routeDeps).routes())
    .use(rejectUnrouted)
    .callback()
  return (request, response) => {
    handle(request, response).catch(reportUnsent)
  }
}

/** Answers what the HTTP server could not read as a request, and logs it. No browser sends such bytes, so that plain text will do. */
export const answerClientError =
  (log: Logger): Refuse =>
  (reason) => {
    const requestId = randomUUID()
    const status = statusOf[reason]
    log.info({ requestId, status }, 'request')
    const headers = {
      ...securityHeaders,
      'Content-Type': 'text/plain; charset=utf-8',
      'X-Request-Id': requestId,
      ...(status === 405 && { Allow: 'GET, HEAD, POST' }),
    }
    return refusal(status, headers, `${STATUS_CODES[status]}\n`)
  }

const setSecurityHeaders: SettingsMiddleware = (ctx, next) => {
  ctx.set(securityHeaders)
  return next()
}

const serveAssets =
  (files: ReadonlyMap<string, StaticFile>): SettingsMiddleware =>
  (ctx, next) => {
    const file = ctx.method === 'GET' || ctx.method === 'HEAD' ? files.get(ctx.path) : undefined
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
