import type { Logger } from 'pino'
import type { ApiContext, ApiMiddleware } from './context.ts'
import { allowedMethods } from './methods.ts'
import { type Failure, failureOf, type RejectionReason, rejectionReasonOf } from './requestError.ts'

/** The status of every error answer, by its code. */
export const errorStatuses = {
  bad_request: 400,
  unauthorized: 401,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  uri_too_long: 414,
  rate_limited: 429,
  headers_too_long: 431,
  internal_error: 500,
  service_unavailable: 503,
} as const

const unavailableRetryAfterSeconds = 5

/** Answers everything thrown by later middleware as JSON; `onRejected` counts requests that were refused or may be retried. */
export const errors =
  (log: Logger, onRejected: (reason: RejectionReason) => void): ApiMiddleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (thrown) {
      const failure = failureOf(thrown)
      // A client that has disconnected gets no answer: its error is neither logged nor counted.
      if (ctx.writable) {
        logCause(log, ctx.state.requestId, failure)
        const reason = rejectionReasonOf(failure)
        if (reason !== undefined) onRejected(reason)
      }
      respond(ctx, failure)
    }
  }

/** The body of every error answer. */
export const renderError = (code: string, message: string): string => JSON.stringify({ error: { code, message } })

/** Headers of an answer that fails after they were set; they are wrong for an error. */
const headersOfAnswers = ['Content-Encoding', 'ETag', 'Replica-Watermark', 'X-Accel-Buffering']

function respond(ctx: ApiContext, failure: Failure): void {
  for (const name of headersOfAnswers) ctx.remove(name)
  ctx.status = errorStatuses[failure.kind]
  for (const [name, value] of headersOf(failure)) ctx.set(name, value)
  ctx.type = 'json'
  ctx.body = renderError(failure.kind, messageOf(failure))
}

function logCause(log: Logger, requestId: string, failure: Failure): void {
  if (failure.kind === 'internal_error') log.error({ requestId, err: failure.cause }, 'internal error')
  if (failure.kind === 'service_unavailable') log.warn({ requestId, err: failure.cause }, 'service unavailable')
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
