import type { Logger } from 'pino'
import type { SettingsMiddleware } from './context.ts'
import { messagesIn } from './pages/languages.ts'
import { type MessageParts, messagePage } from './pages/messagePage.ts'
import type { Messages } from './pages/messages.ts'
import { type Failure, failureOf, type RejectionReason, rejectionReasonOf } from './requestError.ts'
import type { RespondWithPage } from './respond.ts'

const statuses: Readonly<Record<Failure['kind'], number>> = {
  'sign-in-refused': 403,
  'no-session': 403,
  'foreign-form': 403,
  'not-found': 404,
  'method-not-allowed': 405,
  'form-too-large': 413,
  'no-form': 415,
  'change-incomplete': 503,
  unavailable: 503,
  'internal-error': 500,
}

/**
 * Turns every error of the middleware after it into a page that explains it. `signInPage` is the product's page that gives a new
 * sign-in link; `onRejected` counts the rejected requests.
 */
export const errorPages =
  (
    log: Logger,
    respondWithPage: RespondWithPage,
    signInPage: string | undefined,
    onRejected: (reason: RejectionReason) => void,
  ): SettingsMiddleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (thrown) {
      const failure = failureOf(thrown)
      // After the client has disconnected, errors say nothing about the server.
      if (ctx.writable) logCause(log, ctx.state.requestId, failure)
      const reason = rejectionReasonOf(failure)
      if (reason !== undefined) onRejected(reason)
      if (failure.kind === 'method-not-allowed') ctx.set('Allow', failure.allowed.join(', '))
      // The rest of the body stays unread; on a kept-alive connection it would be parsed as the next request.
      if (failure.kind === 'form-too-large' || failure.kind === 'no-form') ctx.set('Connection', 'close')
      const parts = partsOf(failure, messagesIn[ctx.state.language], signInPage, ctx.state.requestId)
      await respondWithPage(ctx, statuses[failure.kind], messagePage(parts))
    }
  }

function logCause(log: Logger, requestId: string, failure: Failure): void {
  switch (failure.kind) {
    case 'internal-error':
      log.error({ requestId, err: failure.cause }, 'internal error')
      break
    case 'unavailable':
    case 'change-incomplete':
      log.warn({ requestId, err: failure.cause }, failure.kind)
      break
    case 'sign-in-refused':
      log.info({ requestId, reason: failure.reason }, failure.kind)
      break
    case 'foreign-form':
      log.warn({ requestId }, failure.kind)
      break
    case 'no-session':
    case 'not-found':
    case 'method-not-allowed':
    case 'form-too-large':
    case 'no-form':
      break
  }
}

function partsOf(failure: Failure, say: Messages, signInPage: string | undefined, requestId: string): MessageParts {
  const toKeys = { href: '/keys', label: say.backToKeys }
  const toSignIn = signInPage === undefined ? undefined : { href: signInPage, label: say.newLink }
  switch (failure.kind) {
    case 'sign-in-refused':
      return { ...say.signInRefused[failure.reason], link: toSignIn }
    case 'no-session':
      return { ...say.noSession, link: toSignIn }
    case 'foreign-form':
      return { ...say.foreignForm, link: toKeys }
    case 'not-found':
      return { ...say.notFound, link: toKeys }
    case 'method-not-allowed':
      return { ...say.methodNotAllowed, link: toKeys }
    case 'form-too-large':
      return { ...say.formTooLarge, link: toKeys }
    case 'no-form':
      return { ...say.noForm, link: toKeys }
    case 'change-incomplete':
      return { ...say.changeIncomplete, link: toKeys }
    case 'unavailable':
      return { ...say.unavailable, link: toKeys }
    case 'internal-error':
      return { ...say.internalError, link: toKeys, reference: requestId }
  }
}
