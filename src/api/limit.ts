import type { Redis } from 'ioredis'
import { type RateLimiterAbstract, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { KeyHolder } from '../core/stores/accountKeyStore.ts'
import type { RedisKeys } from '../core/stores/redisKeys.ts'
import type { Counted, RouteMiddleware } from './context.ts'
import { fromRedis, RequestError } from './requestError.ts'

const windowSeconds = 60

/** Counts in Redis, so that all API processes share a key's minute. */
export const createLimiter = (redis: Redis, keys: RedisKeys, requestsPerMinute: number): RateLimiterAbstract =>
  new RateLimiterRedis({
    storeClient: redis,
    keyPrefix: keys.limitPrefix,
    points: requestsPerMinute,
    duration: windowSeconds,
  })

/** Counts a request of a key. Refused requests neither count for the next minute nor put it off. */
export async function countRequest(limiter: RateLimiterAbstract, { teamId, keyId }: KeyHolder): Promise<Counted> {
  try {
    return { isRefused: false, minute: await limiter.consume(`${teamId}/${keyId}`) }
  } catch (refusal) {
    if (refusal instanceof RateLimiterRes) return { isRefused: true, minute: refusal }
    throw refusal
  }
}

/** Lets a key make so many requests in the minute from its first one, and tells every answer what is left. */
export const limit =
  ({ points }: Pick<RateLimiterAbstract, 'points'>): RouteMiddleware =>
  async (ctx, next) => {
    const { isRefused, minute } = await fromRedis(ctx.state.counted)
    const resetSeconds = Math.max(1, Math.ceil(minute.msBeforeNext / 1000))
    ctx.set('RateLimit-Policy', `"key";q=${points};w=${windowSeconds}`)
    ctx.set('RateLimit', `"key";r=${minute.remainingPoints};t=${resetSeconds}`)
    if (isRefused) throw new RequestError({ kind: 'rate_limited', what: 'requests', retryAfterSeconds: resetSeconds })
    return next()
  }
