import type { Redis } from 'ioredis'
import { type RateLimiterAbstract, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { KeyHolder } from '../replica/keyView.ts'
import type { RedisKeys } from '../replica/redisKeys.ts'
import type { RouteMiddleware } from './context.ts'
import { fromRedis, RequestFailure } from './failure.ts'

const windowSeconds = 60

/** Counts in Redis, so that all API processes share a key's minute. */
export const createLimiter = (redis: Redis, keys: RedisKeys, requestsPerMinute: number): RateLimiterAbstract =>
  new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: keys.limitPrefix,
    points: requestsPerMinute,
    duration: windowSeconds,
  })

/**
 * Lets a key make so many requests in the minute from its first one, and tells every answer what is left. Refused requests
 * neither count for the next minute nor put it off.
 */
export const limit =
  (limiter: RateLimiterAbstract): RouteMiddleware =>
  async (ctx, next) => {
    const { isRefused, counted } = await fromRedis(count(limiter, ctx.state.holder))
    const resetSeconds = Math.max(1, Math.ceil(counted.msBeforeNext / 1000))
    ctx.set('RateLimit-Policy', `"key";q=${limiter.points};w=${windowSeconds}`)
    ctx.set('RateLimit', `"key";r=${counted.remainingPoints};t=${resetSeconds}`)
    if (isRefused) throw new RequestFailure({ kind: 'rate_limited', what: 'requests', retryAfterSeconds: resetSeconds })
    return next()
  }

async function count(
  limiter: RateLimiterAbstract,
  { teamId, keyId }: KeyHolder,
): Promise<{ isRefused: boolean; counted: RateLimiterRes }> {
  try {
    return { isRefused: false, counted: await limiter.consume(`${teamId}/${keyId}`) }
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return { isRefused: true, counted: refusal }
    throw refusal
  }
}
