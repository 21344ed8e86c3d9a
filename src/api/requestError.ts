import { AccountKeysIncomplete } from '../core/stores/accountKeyStore.ts'
import { ElasticsearchUnavailable } from './search/searchClient.ts'

/** What an answer needs and is not available now. */
type Dependency = 'elasticsearch' | 'redis' | 'account_keys' | 'watermark' | 'capacity'

/** Why a request was refused, or could not be answered now. */
export const rejectionReasons = [
  'unauthorized',
  'rate_limited',
  'elasticsearch',
  'redis',
  'account_keys',
  'watermark',
  'capacity',
] as const
export type RejectionReason = (typeof rejectionReasons)[number]

/** Every way in which a request can fail. `kind` is the code of the error answer. */
export type Failure =
  | { readonly kind: 'bad_request'; readonly message: string }
  | { readonly kind: 'unauthorized'; readonly isTokenSent: boolean }
  | { readonly kind: 'not_found'; readonly what: 'form' | 'record' | 'route' }
  | { readonly kind: 'method_not_allowed' }
  | { readonly kind: 'uri_too_long' }
  | { readonly kind: 'rate_limited'; readonly what: 'requests' | 'exports'; readonly retryAfterSeconds: number }
  | { readonly kind: 'service_unavailable'; readonly dependency: Dependency; readonly cause: Error }
  | { readonly kind: 'internal_error'; readonly cause: unknown }

/** Ends a request with an error answer. */
export class RequestError extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.kind)
    this.name = 'RequestError'
    this.failure = failure
  }
}

/** Classifies a thrown value; an unexpected one is a bug. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof RequestError) return thrown.failure
  if (thrown instanceof ElasticsearchUnavailable)
    return { kind: 'service_unavailable', dependency: 'elasticsearch', cause: thrown }
  if (thrown instanceof AccountKeysIncomplete)
    return { kind: 'service_unavailable', dependency: 'account_keys', cause: thrown }
  return { kind: 'internal_error', cause: thrown }
}

/** Awaits Redis; every error is an outage. The original error is dropped, because it would carry command arguments into logs. */
export async function fromRedis<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const cause = new Error(`Redis is unavailable: ${(error as Error).message}`)
    throw new RequestError({ kind: 'service_unavailable', dependency: 'redis', cause })
  }
}

/** The reason to count; undefined if the request itself is wrong, or for a bug. */
export function rejectionReasonOf(failure: Failure): RejectionReason | undefined {
  switch (failure.kind) {
    case 'unauthorized':
    case 'rate_limited':
      return failure.kind
    case 'service_unavailable':
      return failure.dependency
    case 'bad_request':
    case 'not_found':
    case 'method_not_allowed':
    case 'uri_too_long':
    case 'internal_error':
      return undefined
  }
}
