import { AccountKeysIncomplete } from '../core/stores/accountKeyStore.ts'
import { KeyChangeIncomplete, KeyRefused } from './accountKeys.ts'

/** Why a token signs nobody in, as far as a person is told: a forger learns nothing from it. */
export type SignInRefusal = 'expired' | 'used' | 'not-owner' | 'not-valid'

/** Every way in which a request can end on a page that says why. */
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

/** Why a request was turned away, or could not be carried out for now. */
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

/** What a thrown value means for the request; what nobody foresaw is a bug. */
export function failureOf(thrown: unknown): Failure {
  if (thrown instanceof RequestError) return thrown.failure
  if (thrown instanceof AccountKeysIncomplete) return { kind: 'unavailable', cause: thrown }
  if (thrown instanceof KeyChangeIncomplete) return { kind: 'change-incomplete', cause: thrown }
  if (thrown instanceof KeyRefused && (thrown.reason === 'unknown-key' || thrown.reason === 'deleted'))
    return { kind: 'not-found' }
  return { kind: 'internal-error', cause: thrown }
}

/** Undefined for a failure that tells of the request itself, or of a bug. */
export const rejectionReasonOf = ({ kind }: Failure): RejectionReason | undefined =>
  rejectionReasons.find((reason) => reason === kind.replaceAll('-', '_'))

/**
 * The answer of Redis, or of the rules of keys, which talk to it. Every fault that the rules do not name is an outage; the
 * original error would carry a command's arguments into logs.
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
