import type { Logger } from 'pino'
import type { ApiContext, ApiMiddleware } from './context.ts'
import { allowedMethods } from './methods.ts'
import { type Failure, failureOf, type RejectionReason, rejectionReasonOf } from './requestError.ts'
import { statuses } from './statuses.ts'

const unavailableRetryAfterSeconds = 5

/** Turns whatever is thrown further in into the one shape of error answers; `onRejected` hears of those who may come again. */
export const errors =
  (log: Logger, onRejected: (reason: RejectionReason) => void): ApiMiddleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (thrown) {
      const failure = failureOf(thrown)
      // Nobody is told what happens to an answer that nobody waits for any more.
      if (ctx.writable) {
        logCause(log, ctx.state.requestId, failure)
        const reason = rejectionReasonOf(failure)
        if (reason !== undefined) onRejected(reason)
      }
      answer(ctx, failure)
    }
  }

/** The body of every error answer. */
export const renderError = (code: string, message: string): string => JSON.stringify({ error: { code, message } })

/** What was said of an answer that failed when it was ready, and is not true of an error. */
const saidOfAnswers = ['Content-Encoding', 'ETag', 'Replica-Watermark', 'X-Accel-Buffering']

function answer(ctx: ApiContext, failure: Failure): void {
  for (const name of saidOfAnswers) ctx.remove(name)
  ctx.status = statuses[failure.kind]
  for (const [name, value] of headersOf(failure)) ctx.set(name, value)
  ctx.type = 'json'
  ctx.body = renderError(failure.kind, messageOf(failure))
}

function logCause(log: Logger, requestId: string, failure: Failure): void {
  if (failure.kind === 'internal_error') log.error({ requestId, err: failure.cause }, 'a bug')
  if (failure.kind === 'service_unavailable') log.warn({ requestId, err: failure.cause }, 'unavailable')
}

function messageOf(failure: Failure): string {
  switch (failure.kind) {
    case 'bad_request':
      return failure.message
    case 'unauthorized':
      return 'a valid account API key is required: Authorization: Bearer <API_KEY>'
    case 'not_found':
      return `no such ${failure.what}`
    case 'method_not_allowed':
      return `only ${allowedMethods} are supported`
    case 'uri_too_long':
      return 'the URL is too long'
    case 'rate_limited':
      return failure.what === 'requests'
        ? `too many requests with this key; retry in ${failure.retryAfterSeconds} s`
        : "too many of the team's exports are running; retry when one has ended"
    case 'internal_error':
      return 'an unexpected error; the X-Request-Id header identifies it'
    case 'service_unavailable':
      return 'temporarily unavailable; retry later'
  }
}

function headersOf(failure: Failure): [string, string][] {
  switch (failure.kind) {
    case 'unauthorized':
      return [['WWW-Authenticate', failure.isTokenSent ? 'Bearer error="invalid_token"' : 'Bearer']]
    case 'method_not_allowed':
      return [['Allow', allowedMethods]]
    case 'rate_limited':
      return [['Retry-After', String(failure.retryAfterSeconds)]]
    case 'service_unavailable':
      return [['Retry-After', String(unavailableRetryAfterSeconds)]]
    case 'bad_request':
    case 'not_found':
    case 'uri_too_long':
    case 'internal_error':
      return []
  }
}
