import type { RequestListener } from 'node:http'
import Koa from 'koa'
import type { Logger } from 'pino'
import type { Registry } from 'prom-client'
import { requestLog } from '../core/process/requestLog.ts'
import { measure, requestMetrics } from '../core/process/requestMetrics.ts'
import { respondWithFile } from '../core/process/staticFile.ts'
import { pageAnswers } from './answerPage.ts'
import { readAssets } from './assets.ts'
import { methodsOf, type SettingsMiddleware, type SettingsState } from './context.ts'
import { errors } from './errors.ts'
import { ownOriginOnly } from './forms.ts'
import { guardAnswers } from './headers.ts'
import type { KeyDeps } from './keyDeps.ts'
import { keyRoutes } from './keyRoutes.ts'
import { chooseLanguage } from './language.ts'
import { RequestError, rejectionReasons } from './requestError.ts'
import { sessionCookie } from './sessionCookie.ts'
import type { Sessions } from './sessions.ts'
import { signedIn } from './signedIn.ts'
import { signInRoutes } from './signIn/routes.ts'
import type { TakeUse } from './signIn/usedTokens.ts'
import type { SignInJudge } from './signIn/verifyToken.ts'

/** What the settings area answers from. */
export type SettingsDeps = Pick<KeyDeps, 'keys' | 'lastUse' | 'nowMs' | 'randomToken'> & {
  /** Where browsers reach it. */
  readonly origin: string
  /** The product's page that gives a new link. */
  readonly signInPage: string | undefined
  readonly judge: SignInJudge
  readonly takeUse: TakeUse
  readonly sessions: Sessions
  readonly log: Logger
  readonly metrics: Registry
}

/** The settings area as a listener for Node's server; the order of its parts is the order in which a request is judged. */
export function createSettingsApp(needs: SettingsDeps): RequestListener {
  const { origin, sessions, log } = needs
  const requests = requestMetrics(needs.metrics, rejectionReasons)
  const assets = readAssets()
  const answerPage = pageAnswers(assets.paths)
  const cookie = sessionCookie(origin)
  const parts = { ...needs, cookie, answerPage, signedIn: signedIn(sessions, cookie) }
  const app = new Koa<SettingsState>()
  const reportUnsent = (error: unknown, ctx?: { readonly state: SettingsState }): void =>
    log.warn({ requestId: ctx?.state.requestId, err: error }, 'an answer could not be sent')
  app.on('error', reportUnsent)
  const answer = app
    .use(requestLog<SettingsState>(log, ({ session }) => ({ teamId: session?.team })))
    .use(chooseLanguage(origin.startsWith('https:')))
    .use(errors(log, answerPage, needs.signInPage, requests.rejected))
    .use(measure<SettingsState>(requests))
    .use(guardAnswers)
    .use(serveAssets(assets.files))
    .use(ownOriginOnly(origin))
    .use(signInRoutes(parts).routes())
    .use(keyRoutes(parts).routes())
    .use(unrouted)
    .callback()
  return (request, response) => {
    answer(request, response).catch(reportUnsent)
  }
}

const serveAssets =
  (files: ReturnType<typeof readAssets>['files']): SettingsMiddleware =>
  (ctx, next) => {
    const file = ctx.method === 'GET' || ctx.method === 'HEAD' ? files.get(ctx.path) : undefined
    return file === undefined ? next() : respondWithFile(ctx, file)
  }

const unrouted: SettingsMiddleware = (ctx) => {
  const allowed = methodsOf(ctx)
  throw new RequestError(allowed.length === 0 ? { kind: 'not-found' } : { kind: 'method-not-allowed', allowed })
}
