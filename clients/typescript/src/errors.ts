import type { components } from './openapi.ts'

/** What the API calls a kind of error. */
export type ErrorCode = components['schemas']['Error']['error']['code']

/** Every error of this package. */
export class TidemarkError extends Error {
  override name = 'TidemarkError'
}

/** What an answer that is no 200 says. */
export interface Refusal {
  readonly status: number
  /** The error code of the API; undefined if the answer is not the API's own, but of a proxy. */
  readonly code?: ErrorCode | undefined
  /** The parameter that breaks its rule, as far as the message names one that was sent. */
  readonly parameter?: string | undefined
  /** `X-Request-Id` of the answer: names the request in the API's logs. */
  readonly requestId?: string | undefined
  /** How long `Retry-After` asks to wait; undefined if it is missing or unreadable. */
  readonly retryAfterMs?: number | undefined
}

/** The API, or a proxy in front of it, refused a request. */
export class ApiError extends TidemarkError implements Refusal {
  override name = 'ApiError'
  readonly status: number
  readonly code: ErrorCode | undefined
  readonly parameter: string | undefined
  readonly requestId: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(message: string, { status, code, parameter, requestId, retryAfterMs }: Refusal) {
    super(message)
    this.status = status
    this.code = code
    this.parameter = parameter
    this.requestId = requestId
    this.retryAfterMs = retryAfterMs
  }
}

/** 400: a parameter breaks its rule, or a cursor is of another team, list, `view` or `fields`. */
export class BadRequestError extends ApiError {
  override name = 'BadRequestError'
}

/** 401: the account key is unknown, expired or revoked. 403: a proxy refuses. */
export class UnauthorizedError extends ApiError {
  override name = 'UnauthorizedError'
}

/** 404: the team has nothing under this id, or there is no API at `baseUrl`. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}

/** 410: the API does not know any more which deletions a cursor has missed. */
export class CursorExpiredError extends ApiError {
  override name = 'CursorExpiredError'
}

/** 429: the key has used up the requests of its minute, or the team takes all that it may have at once. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
}

/** 503: the API cannot answer in full just now. */
export class ServiceUnavailableError extends ApiError {
  override name = 'ServiceUnavailableError'
}

/** No answer came, or it broke off, or nothing more of it came for `timeoutSeconds`. */
export class ApiConnectionError extends TidemarkError {
  override name = 'ApiConnectionError'
}

/** An answer of status 200 is not what the API answers: it is cut, or of something else, such as a login page. */
export class InvalidAnswerError extends TidemarkError {
  override name = 'InvalidAnswerError'
}

/** The API does not know a parameter, so its answer is not restricted by it. */
export class IgnoredParameterError extends TidemarkError {
  override name = 'IgnoredParameterError'
  /** `Ignored-Parameters` of the answer. */
  readonly parameters: string

  constructor(parameters: string) {
    super(`the API does not know these parameters: ${parameters}`)
    this.parameters = parameters
  }
}

const classes: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: UnauthorizedError,
  403: UnauthorizedError,
  404: NotFoundError,
  410: CursorExpiredError,
  429: RateLimitedError,
  503: ServiceUnavailableError,
}

/** The error of the class that belongs to a status. */
export function apiError(message: string, refusal: Refusal): ApiError {
  const Class = classes[refusal.status] ?? ApiError
  return new Class(message, refusal)
}

/** Whether the same request may succeed later. */
export const isTemporary = (error: unknown): error is TidemarkError =>
  error instanceof ApiConnectionError ||
  error instanceof InvalidAnswerError ||
  (error instanceof ApiError && (error.status === 408 || error.status === 429 || error.status >= 500))
