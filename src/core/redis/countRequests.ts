import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { CountRequests } from './keyLookups.ts'
import type { RedisConnection } from './redis.ts'

/** A key's rate-limit window. It begins with the first request after the end of the last window. */
export const windowSeconds = 60

/** Counts requests in Redis, so that all API processes share the window of a key. Requests above `limit` are counted, too. */
export function countRequests({ client, keys }: RedisConnection, limit: number): CountRequests {
  const limiter = new RateLimiterRedis({
    storeClient: client,
    keyPrefix: keys.limitPrefix,
    points: limit,
    duration: windowSeconds,
  })
  return async (key, requests) => {
    const { consumedPoints, msBeforeNext } = await limiter.consume(key, requests).catch(resultIn)
    return { requests: consumedPoints, leftMs: msBeforeNext }
  }
}

/** Above the limit, `consume` rejects with its result instead of an error. */
function resultIn(rejection: unknown): RateLimiterRes {
  if (rejection instanceof RateLimiterRes) return rejection
  throw rejection
}
