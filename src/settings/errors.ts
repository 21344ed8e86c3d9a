import type { Logger } from 'pino'
import { HttpError, type HttpErrorDetails } from '../core/http/httpError.ts'
import { contentSecurityPolicy } from '../core/pages/html.ts'
import { AccountKeysIncomplete } from '../core/redis/accountKeyStore.ts'
import { RedisUnavailable } from '../core/redis/redis.ts'
import { KeyChangeIncomplete, KeyRefused } from './accountKeyManager.ts'
import type { Messages } from './pages/english.ts'
import { messagePage, urlsFrom } from './pages/parts.ts'
import { respondWithPage, type SettingsMiddleware } from './respond.ts'

type RejectionReason = 'sign_in_refused' | 'no_session' | 'foreign_form' | 'change_incomplete' | 'unavailable'

type ErrorCode = keyof Messages['errors']

/** Refused sign-ins count under one reason, because details would help to forge links. */
const refusedSignIn = { status: 403, rejection: 'sign_in_refused' } as const

/** `rejection`: in the metric of rejected requests; without it, the error is not counted. */
const errorKinds: Readonly<Record<ErrorCode, { readonly status: number; readonly rejection?: RejectionReason }>> = {
  'link-expired': refusedSignIn,
  'link-used': refusedSignIn,
  'link-not-valid': refusedSignIn,
  'not-owner': refusedSignIn,
  'no-session': { status: 403, rejection: 'no_session' },
  'foreign-form': { status: 403, rejection: 'foreign_form' },
  'not-found': { status: 404 },
  'method-not-allowed': { status: 405 },
  'form-too-large': { status: 413 },
  'internal-error': { status: 500 },
  'change-incomplete': { status: 503, rejection: 'change_incomplete' },
  unavailable: { status: 503, rejection: 'unavailable' },
}

export const rejectionReasons = new Set(Object.values(errorKinds).flatMap(({ rejection }) => rejection ?? []))

type SettingsError = HttpError<ErrorCode, RejectionReason>

export function settingsError(code: ErrorCode, details?: Omit<HttpErrorDetails, 'rejection'>): SettingsError {
  const { status, ...kind } = errorKinds[code]
  return new HttpError(status, code, code, { ...kind, ...details })
}

function toSettingsError(thrown: unknown): SettingsError {
  if (thrown instanceof HttpError) return thrown
  if (thrown instanceof RedisUnavailable || thrown instanceof AccountKeysIncomplete)
    return settingsError('unavailable', { cause: thrown })
  if (thrown instanceof KeyChangeIncomplete) return settingsError('change-incomplete', { cause: thrown })
  if (thrown instanceof KeyRefused && (thrown.reason === 'unknown-key' || thrown.reason === 'deleted'))
    return settingsError('not-found')
  return settingsError('internal-error', { cause: thrown })
}

/** On every answer. `same-origin`, because with `no-referrer`, browsers would send `Origin: null` with every form. */
export const securityHeaders: Readonly<Record<string, string>> = {
  'Content-Security-Policy': contentSecurityPolicy({ 'form-action': "'self'" }),
  'Referrer-Policy': 'same-origin',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}

/** Without a session, error pages link to `signInPage`. */
export const errors =
  (log: Logger, signInPage: string | undefined, countRejected: (reason: RejectionReason) => void): SettingsMiddleware =>
  async (ctx, next) => {
    ctx.set(securityHeaders)
    try {
      await next()
    } catch (thrown) {
      const error = toSettingsError(thrown)
      const { code, status, rejection } = error
      const { requestId, messages } = ctx.state
      // Otherwise, the error may be a consequence of the disconnection.
      if (ctx.writable) logError(log, requestId, error)
      if (rejection !== undefined) countRejected(rejection)
      ctx.set(error.headers)
      const isSignedOut = rejection === 'sign_in_refused' || rejection === 'no_session'
      const back = { href: urlsFrom(ctx.path)('/keys'), label: messages.backToKeys }
      const link = isSignedOut ? { href: signInPage, label: messages.newLink } : back
      const reference = code === 'internal-error' ? requestId : undefined
      respondWithPage(ctx, status, messagePage({ ...messages.errors[code], link, reference }))
    }
  }

function logError(log: Logger, requestId: string, { code, rejection, cause }: SettingsError): void {
  if (code === 'internal-error') log.error({ requestId, err: cause }, 'internal error')
  else if (code === 'unavailable' || code === 'change-incomplete') log.warn({ requestId, err: cause }, code)
  else if (code === 'foreign-form') log.warn({ requestId }, code)
  else if (rejection === 'sign_in_refused') log.info({ requestId, reason: code }, 'sign-in-refused')
}
