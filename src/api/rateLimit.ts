import type { RequestWindow } from '../core/stores/keyLookups.ts'
import type { ApiContext } from './context.ts'
import { apiError } from './errors.ts'

/**
 * The window of a key's rate limit begins with its first request. The script that looks the key up counts its requests in Redis
 * (`lookupScript` in keyLookups.ts), so all API processes share the window. Refused requests do not extend it.
 */
export const windowSeconds = 60

/** Sets the rate limit headers, and throws `rate_limited` if the request exceeds the limit. */
export function enforceRateLimit(ctx: ApiContext, limit: number, { requests, leftMs }: RequestWindow): void {
  const resetSeconds = Math.max(1, Math.ceil(leftMs / 1000))
  ctx.set('RateLimit-Policy', `"key";q=${limit};w=${windowSeconds}`)
  ctx.set('RateLimit', `"key";r=${Math.max(0, limit - requests)};t=${resetSeconds}`)
  if (requests > limit)
    throw apiError('rate_limited', `too many requests with this key; retry in ${resetSeconds} s`, {
      headers: { 'Retry-After': String(resetSeconds) },
      rejection: 'rate_limited',
    })
}
