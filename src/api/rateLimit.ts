import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { KeyHolder } from '../core/stores/accountKeyStore.ts'
import type { RedisConnection } from '../core/stores/redis.ts'
import type { ApiContext } from './context.ts'
import { apiError } from './errors.ts'

const windowSeconds = 60

/** A request counted in its key's window, and whether it exceeds the limit. */
export type CountedRequest = { readonly isRefused: boolean; readonly window: RateLimiterRes }

/** Counts requests of a key in a fixed window, in Redis, so that all API processes share it. Refused requests neither count towards the next window nor delay it. */
export function requestCounter(
  { client: storeClient, keys: { limitPrefix: keyPrefix } }: RedisConnection,
  points: number,
): (holder: KeyHolder) => Promise<CountedRequest> {
  const limiter = new RateLimiterRedis({ storeClient, keyPrefix, points, duration: windowSeconds })
  return async ({ teamId, keyId }) => {
    try {
      return { isRefused: false, window: await limiter.consume(`${teamId}/${keyId}`) }
    } catch (refusal) {
      if (refusal instanceof RateLimiterRes) return { isRefused: true, window: refusal }
      throw refusal
    }
  }
}

/** Sets the rate limit headers, and throws `rate_limited` if the request exceeds the limit. */
export function enforceRateLimit(
  ctx: ApiContext,
  requestsPerMinute: number,
  { isRefused, window }: CountedRequest,
): void {
  const resetSeconds = Math.max(1, Math.ceil(window.msBeforeNext / 1000))
  ctx.set('RateLimit-Policy', `"key";q=${requestsPerMinute};w=${windowSeconds}`)
  ctx.set('RateLimit', `"key";r=${window.remainingPoints};t=${resetSeconds}`)
  if (isRefused)
    throw apiError('rate_limited', `too many requests with this key; retry in ${resetSeconds} s`, {
      headers: { 'Retry-After': String(resetSeconds) },
      rejection: 'rate_limited',
    })
}
