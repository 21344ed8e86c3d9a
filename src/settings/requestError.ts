import { AccountKeysIncomplete } from '../core/stores/accountKeyStore.ts'
import { KeyChangeIncomplete, KeyRefused } from './accountKeys.ts'

/** Why a sign-in token is rejected, as coarse as the person may know: whoever forges tokens learns nothing from it. */
export type SignInRefusal = 'expired' | 'used' | 'not-owner' | 'not-valid'

/** Every way in which a request can end on an error page. */
export type Failure =
  | { readonly kind: 'sign-in-refused'; readonly reason: SignInRefusal }
  | { readonly kind: 'no-session' }
  | { readonly kind: 'foreign-form' }
  | { readonly kind: 'not-found' }
  | { readonly kind: 'method-not-allowed'; readonly allowed: readonly string[] }
  | { readonly kind: 'form-too-large' }
  | { readonly kind: 'no-form' }
  | { readonly kind: 'change-incomplete'; readonly cause: Error }
  | { readonly kind: 'unavailable'; readonly cause: Error }
  | { readonly kind: 'internal-error'; readonly cause: unknown }

/** The failures that count as rejected requests in the metrics. */
export const rejectionReasons = [
  'sign_in_refused',
  'no_session',
  'foreign_form',
  'change_incomplete',
  'unavailable',
] as const
export type RejectionReason = (typeof rejectionReasons)[number]

/** Ends a request with a failure. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly failure: Failure

  constructor(failure: Failure) {
    super(failure.kind)
    this.failure = failure
  }
}

/** The failure that a thrown value stands for; any unexpected value is a bug, `internal-error`. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof RequestError) return thrown.failure
  if (thrown instanceof AccountKeysIncomplete) return { kind: 'unavailable', cause: thrown }
  if (thrown instanceof KeyChangeIncomplete) return { kind: 'change-incomplete', cause: thrown }
  if (thrown instanceof KeyRefused && (thrown.reason === 'unknown-key' || thrown.reason === 'deleted'))
    return { kind: 'not-found' }
  return { kind: 'internal-error', cause: thrown }
}

/** Undefined for failures that are not counted as rejections. */
export const rejectionReasonOf = ({ kind }: Failure): RejectionReason | undefined =>
  rejectionReasons.find((reason) => reason === kind.replaceAll('-', '_'))

/**
 * Awaits Redis, or a call of `AccountKeys`, which uses it. Any error other than those of `AccountKeys` is an outage of Redis. The
 * original error is not kept: it would carry the command's arguments into the log.
 */
export async function whileAvailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof KeyRefused || error instanceof KeyChangeIncomplete || error instanceof AccountKeysIncomplete)
      throw error
    const cause = new Error(`Redis is unavailable: ${(error as Error).message}`)
    throw new RequestError({ kind: 'unavailable', cause })
  }
}
