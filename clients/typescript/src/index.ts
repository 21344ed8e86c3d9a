export type { Entities, PartsOf } from './entities.ts'
export {
  ApiConnectionError,
  ApiError,
  BadRequestError,
  CursorExpiredError,
  type ErrorCode,
  IgnoredParameterError,
  InvalidAnswerError,
  NotFoundError,
  RateLimitedError,
  ServiceUnavailableError,
  TidemarkError,
  UnauthorizedError,
} from './errors.ts'
export type { Export } from './export.ts'
export type { Fetch, FetchAnswer } from './fetch.ts'
export type { Batch, FollowOptions } from './follow.ts'
export type { components, operations, paths } from './openapi.ts'
export type { Retry, Sleep } from './retries.ts'
export { Tidemark, type TidemarkOptions } from './tidemark.ts'
export type * from './types.ts'
