import { HttpError } from '../core/http/httpError.ts'
import { accountKeyPrefix, digestOf } from '../core/model/accountKey.ts'
import type { Digest } from '../core/model/ids.ts'
import { AccountKeysIncomplete } from '../core/redis/accountKeyStore.ts'
import { windowSeconds } from '../core/redis/countRequests.ts'
import { type FoundKey, isValid, type LookUpKey, type RequestWindow } from '../core/redis/keyLookups.ts'
import type { KeyUse } from '../core/redis/keyUse.ts'
import { fromRedis } from '../core/redis/redis.ts'
import type { ApiContext, ApiMiddleware, RouteContext, WatchKey } from './context.ts'
import { type ApiError, apiError } from './errors.ts'
import { FairQueue } from './fairQueue.ts'
import { releaseOrThrow, whenClosed } from './requestsInFlight.ts'

type RequestHeaders = Pick<ApiContext, 'req' | 'get'>

/** Requests in flight: each may have an unread answer in memory. About half of the total may wait for a change. */
const maxAuthenticated = { maxRunning: 2_048, maxRunningPerTeam: 512 }

/** Accepts a valid account key within its rate limit and its team's bound. Sets `accountKey` and `freshness`. */
export function authenticate(lookUp: LookUpKey, requestsPerMinute: number, nowMs: () => number): ApiMiddleware {
  const queue = new FairQueue(maxAuthenticated)
  return async (ctx, next) => {
    const { accountKey, freshness, window } = await lookUpValid(lookUp, ctx, nowMs(), true)
    ctx.state.accountKey = accountKey
    // Before `acquireNow`, so that a refusal for lack of capacity has the headers of the rate limit, too.
    enforceRateLimit(ctx, requestsPerMinute, window)
    whenClosed(ctx.res, releaseOrThrow(queue.acquireNow(accountKey.teamId), 'requests'))
    Object.assign(ctx.state, { freshness })
    return next()
  }
}

/** Counts requests with a valid key by status. Mounted before `authenticate`, to count also requests beyond the rate limit. */
export const countUse =
  (use: Pick<KeyUse, 'count'>): ApiMiddleware =>
  async (ctx, next) => {
    let status = 200
    try {
      await next()
    } catch (error) {
      status = error instanceof HttpError ? error.status : 500
      throw error
    } finally {
      const { accountKey } = ctx.state
      if (accountKey !== undefined) use.count(accountKey, status)
    }
  }

function enforceRateLimit(ctx: ApiContext, limit: number, { requests, leftMs }: RequestWindow): void {
  const resetSeconds = Math.max(1, Math.ceil(leftMs / 1000))
  ctx.set('RateLimit-Policy', `"key";q=${limit};w=${windowSeconds}`)
  ctx.set('RateLimit', `"key";r=${Math.max(0, limit - requests)};t=${resetSeconds}`)
  if (requests > limit)
    throw apiError('rate_limited', `too many requests with this key; retry in ${resetSeconds} s`, {
      headers: { 'Retry-After': String(resetSeconds) },
      rejection: 'rate_limited',
    })
}

/** Validates the key after a wait, without counting the request, and reads `freshness` again. */
export const createRecheck =
  (lookUp: LookUpKey, nowMs: () => number) =>
  async (ctx: RouteContext): Promise<void> => {
    const { accountKey, freshness } = await lookUpValid(lookUp, ctx, nowMs(), false)
    if (!isStillAccepted(ctx.state.accountKey, accountKey, nowMs())) throw unauthorized(true)
    ctx.state.freshness = freshness
  }

/** Throws `unauthorized`; `AccountKeysIncomplete` or `RedisUnavailable` while keys cannot be looked up. */
async function lookUpValid(lookUp: LookUpKey, ctx: RequestHeaders, nowMs: number, isCounted: boolean) {
  const lookup = await fromRedis(lookUp(keyDigestOf(ctx), isCounted ? nowMs : undefined))
  if (lookup.kind === 'incomplete') throw new AccountKeysIncomplete()
  if (lookup.kind === 'unknown' || !isValid(lookup.accountKey, nowMs)) throw unauthorized(true)
  return { accountKey: lookup.accountKey, freshness: lookup.freshness, window: lookup.window }
}

function keyDigestOf(ctx: RequestHeaders): Digest {
  if ((ctx.req.headersDistinct['authorization'] ?? []).length > 1)
    throw apiError('bad_request', 'Authorization must be sent only once')
  const token = /^Bearer +(?<token>.*)$/i.exec(ctx.get('Authorization'))?.groups?.['token'] ?? ''
  if (!token.startsWith(accountKeyPrefix)) throw unauthorized(token !== '')
  return digestOf(token)
}

export const unauthorized = (isTokenSent: boolean): ApiError =>
  apiError('unauthorized', undefined, {
    headers: { 'WWW-Authenticate': isTokenSent ? 'Bearer error="invalid_token"' : 'Bearer' },
    rejection: 'unauthorized',
  })

/** `current`: the key to which the digest belongs now; null for none. */
const isStillAccepted = ({ teamId, keyId }: FoundKey, current: FoundKey | null, nowMs: number): boolean =>
  current !== null && isValid(current, nowMs) && current.teamId === teamId && current.keyId === keyId

const watchTickMs = 400

type WatchedRequest = { readonly digest: Digest; readonly accountKey: FoundKey; onRefused(): void }

/**
 * Ends long requests (exports, large pages, waits) within a second after their key is revoked or expires. While Redis fails or lacks keys, all keys
 * stay accepted. `findKeys` returns keys in the order of `digests`, null for an unknown digest; undefined while Redis may lack account keys.
 */
export function watchKeys(
  findKeys: (digests: readonly Digest[]) => Promise<readonly (FoundKey | null)[] | undefined>,
  nowMs: () => number,
): WatchKey {
  const watched = new Set<WatchedRequest>()
  let timer: NodeJS.Timeout | undefined
  let isReading = false
  const tick = async (): Promise<void> => {
    if (isReading) return
    isReading = true
    const requests = [...watched]
    const digests = [...new Set(requests.map(({ digest }) => digest))]
    const found = await findKeys(digests).catch(() => undefined)
    isReading = false
    if (found === undefined) return
    const currentKeys = new Map(digests.map((digest, index) => [digest, found[index] ?? null]))
    for (const { digest, accountKey, onRefused } of requests)
      if (!isStillAccepted(accountKey, currentKeys.get(digest) ?? null, nowMs())) onRefused()
  }
  return (ctx, onRefused) => {
    const request = { digest: keyDigestOf(ctx), accountKey: ctx.state.accountKey, onRefused }
    watched.add(request)
    timer ??= setInterval(() => void tick(), watchTickMs)
    return () => {
      watched.delete(request)
      if (watched.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }
}
