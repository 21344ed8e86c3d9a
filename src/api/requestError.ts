import { AccountKeysIncomplete } from '../core/stores/accountKeyStore.ts'
import { ReplicaUnavailable } from './search/unavailable.ts'

/** What an answer needs and cannot have just now. */
export type Lacking = 'elasticsearch' | 'redis' | 'account_keys' | 'watermark' | 'capacity'

/** Why a request was turned away, or could not be answered for now. */
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

/** Every way in which a request can fail. */
export type Failure =
  | { readonly kind: 'bad_request'; readonly message: string }
  | { readonly kind: 'unauthorized'; readonly isTokenSent: boolean }
  | { readonly kind: 'not_found'; readonly what: 'form' | 'record' | 'route' }
  | { readonly kind: 'method_not_allowed' }
  | { readonly kind: 'uri_too_long' }
  | { readonly kind: 'rate_limited'; readonly what: 'requests' | 'exports'; readonly retryAfterSeconds: number }
  | { readonly kind: 'service_unavailable'; readonly lacks: Lacking; readonly cause: Error }
  | { readonly kind: 'internal_error'; readonly cause: unknown }

/** Ends a request with a failure. */
export class RequestError extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.kind)
    this.name = 'RequestError'
    this.failure = failure
  }
}

/** What a thrown value means for the request; what nobody foresaw is a bug. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof RequestError) return thrown.failure
  if (thrown instanceof ReplicaUnavailable)
    return { kind: 'service_unavailable', lacks: 'elasticsearch', cause: thrown }
  if (thrown instanceof AccountKeysIncomplete)
    return { kind: 'service_unavailable', lacks: 'account_keys', cause: thrown }
  return { kind: 'internal_error', cause: thrown }
}

/** The answer of Redis; every fault of it is an outage. The original error would carry the command's arguments into logs. */
export async function fromRedis<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const cause = new Error(`Redis is unavailable: ${(error as Error).message}`)
    throw new RequestError({ kind: 'service_unavailable', lacks: 'redis', cause })
  }
}

/** Undefined for a failure that tells of the request itself, or of a bug. */
export function rejectionReasonOf(failure: Failure): RejectionReason | undefined {
  switch (failure.kind) {
    case 'unauthorized':
    case 'rate_limited':
      return failure.kind
    case 'service_unavailable':
      return failure.lacks
    case 'bad_request':
    case 'not_found':
    case 'method_not_allowed':
    case 'uri_too_long':
    case 'internal_error':
      return undefined
  }
}
