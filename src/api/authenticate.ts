import { accountKeyPrefix, digestOf } from '../core/model/accountKey.ts'
import type { Digest } from '../core/model/ids.ts'
import { AccountKeysIncomplete } from '../core/redis/accountKeyStore.ts'
import { windowSeconds } from '../core/redis/countRequests.ts'
import { isValid, type KeyHolder, type LookUp, type RequestWindow } from '../core/redis/keyLookups.ts'
import { fromRedis } from '../core/redis/redis.ts'
import type { ApiContext, ApiMiddleware, RouteContext, WatchKey } from './context.ts'
import { type ApiError, apiError } from './errors.ts'
import { FairQueue } from './fairQueue.ts'
import { granted, whenClosed } from './requestsInFlight.ts'

type Carrier = Pick<ApiContext, 'req' | 'get'>

/** Concurrent authenticated requests, in total and of one team. Each may hold an answer in memory that its client has not read; about half may wait. */
const maxAuthenticated = { maxRunning: 2_048, maxRunningPerTenant: 512 }

/** Lets a request pass if it has an active account key, within its key's rate limit and its team's share of concurrent requests. */
export function authenticate(lookUp: LookUp, requestsPerMinute: number, nowMs: () => number): ApiMiddleware {
  const queue = new FairQueue(maxAuthenticated)
  return async (ctx, next) => {
    const { found, freshness, window } = await judge(lookUp, ctx, nowMs(), true)
    ctx.state.holder = found
    // The limit first, so that a refusal for want of capacity tells it, too.
    enforceRateLimit(ctx, requestsPerMinute, window)
    whenClosed(ctx.res, granted(queue.acquireNow(found.teamId), 'requests'))
    Object.assign(ctx.state, { freshness })
    return next()
  }
}

/** Sets the rate limit headers, and throws `rate_limited` if the request exceeds the limit. */
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

/** Judges the key of a request again after a wait, and updates the freshness in the state. Counts no request. */
export const createRecheck =
  (lookUp: LookUp, nowMs: () => number) =>
  async (ctx: RouteContext): Promise<void> => {
    const { found, freshness } = await judge(lookUp, ctx, nowMs(), false)
    if (!isHeldBy(ctx.state.holder, found, nowMs())) throw unauthorized(true)
    ctx.state.freshness = freshness
  }

/** Throws `unauthorized` without a valid key, another error while the key cannot be judged. */
async function judge(lookUp: LookUp, ctx: Carrier, nowMs: number, isCounted: boolean) {
  const lookup = await fromRedis(lookUp(keyDigestOf(ctx), isCounted ? nowMs : undefined))
  if (lookup.kind === 'incomplete') throw new AccountKeysIncomplete()
  if (lookup.kind === 'unknown' || !isValid(lookup.holder, nowMs)) throw unauthorized(true)
  return { found: lookup.holder, freshness: lookup.freshness, window: lookup.window }
}

/** The digest of the key that a request carries. Throws `unauthorized` without one. */
function keyDigestOf(ctx: Carrier): Digest {
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

/** Whether a key is still valid, and that of the holder for whom its request was accepted. */
const isHeldBy = ({ teamId, keyId }: KeyHolder, found: KeyHolder | null, nowMs: number): boolean =>
  found !== null && isValid(found, nowMs) && found.teamId === teamId && found.keyId === keyId

const watchTickMs = 400

type Watched = { readonly digest: Digest; readonly holder: KeyHolder; onRefused(): void }

/**
 * Looks up the keys of long requests (exports, waits for a change), all in one round trip to Redis, so that a key that is revoked or expires
 * ends them within a second. A key that cannot be looked up stays accepted. `readHolders` answers in the order of its digests; undefined while
 * the store is incomplete.
 */
export function watchKeys(
  readHolders: (digests: readonly Digest[]) => Promise<readonly (KeyHolder | null)[] | undefined>,
  nowMs: () => number,
): WatchKey {
  const watched = new Set<Watched>()
  let [timer, isReading]: [NodeJS.Timeout | undefined, boolean] = [undefined, false]
  const tick = async (): Promise<void> => {
    if (isReading) return
    isReading = true
    const asked = [...watched]
    const digests = [...new Set(asked.map(({ digest }) => digest))]
    const holders = await readHolders(digests).catch(() => undefined)
    isReading = false
    if (holders === undefined) return
    const current = new Map(digests.map((digest, at) => [digest, holders[at] ?? null]))
    for (const { digest, holder, onRefused } of asked)
      if (!isHeldBy(holder, current.get(digest) ?? null, nowMs())) onRefused()
  }
  return (ctx, onRefused) => {
    const each = { digest: keyDigestOf(ctx), holder: ctx.state.holder, onRefused }
    watched.add(each)
    timer ??= setInterval(() => void tick(), watchTickMs)
    return () => {
      watched.delete(each)
      if (watched.size > 0) return
      clearInterval(timer)
      timer = undefined
    }
  }
}
