import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { CountRequests } from './keyLookups.ts'
import type { RedisConnection } from './redis.ts'

/** The window of a key's rate limit; it begins with the key's first request. */
export const windowSeconds = 60

/** Returns a function that counts requests of keys in Redis, so that all API processes share the window of a key. */
export function countRequests({ client, keys }: RedisConnection, limit: number): CountRequests {
  const limiter = new RateLimiterRedis({
    ...{ storeClient: client, keyPrefix: keys.limitPrefix, points: limit, duration: windowSeconds },
  })
  return async (key, requests) => {
    const { consumedPoints, msBeforeNext } = await limiter.consume(key, requests).catch(exceeded)
    return { requests: consumedPoints, leftMs: msBeforeNext }
  }
}

/** What the limiter rejects with above the limit; throws any other error. */
function exceeded(reason: unknown): RateLimiterRes {
  if (reason instanceof RateLimiterRes) return reason
  throw reason
}
