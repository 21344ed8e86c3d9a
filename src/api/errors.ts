import type { Logger } from 'pino'
import { type ClientError, type Refuse, refuseAndLog } from '../core/http/clientErrors.ts'
import { HttpError, type HttpErrorDetails } from '../core/http/httpError.ts'
import { jsonOf } from '../core/json/iJson.ts'
import { AccountKeysIncomplete } from '../core/redis/accountKeyStore.ts'
import { RedisUnavailable } from '../core/redis/redis.ts'
import type { ApiMiddleware } from './context.ts'
import { ElasticsearchUnavailable } from './search/searchClient.ts'

export const allowedMethods = 'GET, HEAD, OPTIONS'

/** Status and default message. If the message depends on the request, the default is an example for the API description. */
export const errorAnswers = {
  bad_request: [400, 'limit must be an integer from 1 to 100, not "500"'],
  unauthorized: [401, 'a valid account API key is required: Authorization: Bearer <API_KEY>'],
  not_found: [404, 'no such form'],
  method_not_allowed: [405, `only ${allowedMethods} are supported`],
  request_timeout: [408, 'the request took too long to arrive'],
  cursor_expired: [
    410,
    'deletions since the cursor are unknown: start without a cursor; once hasMore is false, remove rows that were not returned since',
  ],
  uri_too_long: [414, 'the URL is too long'],
  rate_limited: [429, 'too many requests with this key; retry in 42 s'],
  headers_too_long: [431, 'the headers are too long'],
  internal_error: [500, 'an unexpected error; the X-Request-Id header identifies it'],
  service_unavailable: [503, 'temporarily unavailable; retry later'],
} as const

export type ErrorCode = keyof typeof errorAnswers
export const errorCodes = Object.keys(errorAnswers) as ErrorCode[]

/** On every answer: shared caches must neither store a team's data nor serve it to another key. */
export const privateHeaders = {
  'Cache-Control': 'private, no-cache',
  Vary: 'Authorization, Accept, Accept-Encoding',
}

/** What an answer of status 503 lacked; also labels of a metric. */
const dependencies = ['elasticsearch', 'redis', 'account_keys', 'positions', 'capacity'] as const

export const rejectionReasons = ['unauthorized', 'rate_limited', ...dependencies] as const
type RejectionReason = (typeof rejectionReasons)[number]

export type ApiError = HttpError<ErrorCode, RejectionReason>

export const apiError = (
  code: ErrorCode,
  message: string = errorAnswers[code][1],
  details?: HttpErrorDetails<RejectionReason>,
): ApiError => new HttpError(errorAnswers[code][0], code, message, details)

const unavailableRetryAfterSeconds = 5

export const unavailable = (dependency: (typeof dependencies)[number], cause: Error): ApiError =>
  apiError('service_unavailable', undefined, {
    headers: { 'Retry-After': String(unavailableRetryAfterSeconds) },
    rejection: dependency,
    cause,
  })

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof HttpError) return thrown
  if (thrown instanceof ElasticsearchUnavailable) return unavailable('elasticsearch', thrown)
  if (thrown instanceof RedisUnavailable) return unavailable('redis', thrown)
  if (thrown instanceof AccountKeysIncomplete) return unavailable('account_keys', thrown)
  return apiError('internal_error', undefined, { cause: thrown })
}

/** Answers errors of later middleware as JSON. `onRejected` gets their `rejection`. */
export const errors =
  (log: Logger, onRejected: (reason: RejectionReason) => void): ApiMiddleware =>
  async (ctx, next) => {
    ctx.set(privateHeaders)
    try {
      await next()
    } catch (thrown) {
      const error = toApiError(thrown)
      // If the client has disconnected, this may have caused the error.
      if (ctx.writable) {
        logCause(log, ctx.state.requestId, error)
        if (error.rejection !== undefined) onRejected(error.rejection)
      }
      for (const name of headersOfSuccess) ctx.remove(name)
      ctx.status = error.status
      ctx.set(error.headers)
      ctx.type = 'json'
      ctx.body = renderError(error.code, error.message)
    }
  }

function logCause(log: Logger, requestId: string, { code, cause }: ApiError): void {
  if (code === 'internal_error') log.error({ requestId, err: cause }, 'internal error')
  if (code === 'service_unavailable') log.warn({ requestId, err: cause }, 'unavailable')
}

const headersOfSuccess = [
  'Changes-Cursor',
  'Content-Encoding',
  'ETag',
  'Preference-Applied',
  'Replica-Watermark',
  'X-Accel-Buffering',
]

const renderError = (code: string, message: string): string => jsonOf({ error: { code, message } })

/** Without a message: the default. */
const clientErrors: Readonly<Record<ClientError, readonly [ErrorCode, message?: string]>> = {
  timeout: ['request_timeout'],
  'long-url': ['uri_too_long'],
  'long-headers': ['headers_too_long'],
  'bad-url': ['bad_request', 'the URL must be percent-encoded'],
  method: ['method_not_allowed'],
  host: ['bad_request', 'there must be exactly one Host header: a host, with its port or without'],
  'no-http': ['bad_request', 'this is not HTTP/1.1'],
}

const headersOfClientErrors = { 'Content-Type': 'application/json; charset=utf-8', ...privateHeaders }

/** For requests that Node's HTTP server or `httpServer.ts` refuses, before any middleware runs. */
export const answerClientError = (log: Logger): Refuse =>
  refuseAndLog(log, headersOfClientErrors, allowedMethods, (reason) => {
    const [code, message = errorAnswers[code][1]] = clientErrors[reason]
    return renderError(code, message)
  })
