import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { CountRequests } from './keyLookups.ts'
import type { RedisConnection } from './redis.ts'

/** Begins with the first request after the end of the last window. */
export const windowSeconds = 60

/** In Redis, so that all API processes share a key's window. Requests above `limit` are counted, too. */
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

/** Above the limit, `consume` rejects with its result. */
function resultIn(rejection: unknown): RateLimiterRes {
  if (rejection instanceof RateLimiterRes) return rejection
  throw rejection
}
