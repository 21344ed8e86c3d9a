import { ReplicaUnavailable } from '../queries/unavailable.ts'
import { KeyViewIncomplete } from '../replica/keyView.ts'

/** Every way in which a request can fail. */
export type Failure =
  | { readonly kind: 'bad_request'; readonly message: string }
  | { readonly kind: 'unauthorized'; readonly isTokenSent: boolean }
  | { readonly kind: 'not_found'; readonly what: 'form' | 'record' | 'route' }
  | { readonly kind: 'method_not_allowed' }
  | { readonly kind: 'uri_too_long' }
  | { readonly kind: 'rate_limited'; readonly retryAfterSeconds: number }
  | { readonly kind: 'service_unavailable'; readonly cause: Error }
  | { readonly kind: 'internal_error'; readonly cause: unknown }

/** Ends a request with a failure. */
export class RequestFailure extends Error {
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.kind)
    this.name = 'RequestFailure'
    this.failure = failure
  }
}

/** What a thrown value means for the request; what nobody foresaw is a bug. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof RequestFailure) return thrown.failure
  if (thrown instanceof ReplicaUnavailable || thrown instanceof KeyViewIncomplete)
    return { kind: 'service_unavailable', cause: thrown }
  return { kind: 'internal_error', cause: thrown }
}

/** The answer of Redis; every fault of it is an outage. The original error would carry the command's arguments into logs. */
export async function fromRedis<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    const cause = new Error(`Redis is unavailable: ${(error as Error).message}`)
    throw new RequestFailure({ kind: 'service_unavailable', cause })
  }
}
