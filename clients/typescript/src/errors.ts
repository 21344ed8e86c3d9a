import type { components } from './openapi.ts'

/** The error codes of the API. */
export type ErrorCode = components['schemas']['Error']['error']['code']

/** Every error of this package. */
export class TidemarkError extends Error {
  override name = 'TidemarkError'
}

/** The content of an answer with another status than 200. */
export interface Refusal {
  readonly status: number
  /** The error code of the API; undefined if the answer comes from a proxy. */
  readonly code?: ErrorCode | undefined
  /** The parameter that breaks its rule, if the message names one that was sent. */
  readonly parameter?: string | undefined
  /** `X-Request-Id` of the answer, which identifies the request in the API's logs. */
  readonly requestId?: string | undefined
  /** The delay that `Retry-After` demands; undefined if the header is missing or unreadable. */
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

/** 404: the team has no form or submission with this id, or there is no API at `baseUrl`. */
export class NotFoundError extends ApiError {
  override name = 'NotFoundError'
}

/** 410: the deletions since the cursor are unknown. */
export class CursorExpiredError extends ApiError {
  override name = 'CursorExpiredError'
}

/** 429: the key has used all requests of its minute, or the team has too many requests or exports in progress. */
export class RateLimitedError extends ApiError {
  override name = 'RateLimitedError'
}

/** 503: the API cannot give the whole answer now. */
export class ServiceUnavailableError extends ApiError {
  override name = 'ServiceUnavailableError'
}

/** There was no answer, or it broke off, or it sent nothing for `timeoutSeconds`. */
export class ApiConnectionError extends TidemarkError {
  override name = 'ApiConnectionError'
}

/** An answer with status 200 is not a whole answer of the API: it is cut, or something else, such as a login page. */
export class InvalidAnswerError extends TidemarkError {
  override name = 'InvalidAnswerError'
}

/** The API does not support a parameter, so its answer is not filtered by it. */
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
