import { LRUCache } from 'lru-cache'
import { accountKeyPrefix, digestOf } from '../core/model/accountKey.ts'
import type { Digest } from '../core/model/ids.ts'
import {
  type AccountKeyStore,
  AccountKeysIncomplete,
  type KeyHolder,
  type Lookup,
} from '../core/stores/accountKeyStore.ts'
import { minuteOf } from '../core/stores/keyLastUse.ts'
import type { Freshness } from '../core/stores/listVersions.ts'
import { fromRedis } from '../core/stores/redis.ts'
import { createTeamAdmission } from './admission.ts'
import type { ApiContext, ApiMiddleware, RouteContext } from './context.ts'
import { type ApiError, apiError, errorMessages } from './errors.ts'
import { type CountedRequest, enforceRateLimit } from './rateLimit.ts'

/** Keys that a process remembers. */
const maxKeys = 10_000

type AcceptedKey = {
  readonly holder: KeyHolder
  readonly freshness: Freshness
  readonly counted: Promise<CountedRequest>
}

type HolderLookup = (digest: Digest) => Promise<AcceptedKey>

type AuthenticationDeps = {
  readonly lookUpHolder: HolderLookup
  readonly requestsPerMinute: number
  readonly recordUse: (holder: KeyHolder) => void
}

/**
 * Lets a request pass if it has an active account key, and neither its key's rate limit nor its team's share of concurrent requests is
 * exceeded. Sets the key's holder and the freshness of the team's lists in the state.
 */
export function authenticate({ lookUpHolder, requestsPerMinute, recordUse }: AuthenticationDeps): ApiMiddleware {
  const admitTeam = createTeamAdmission()
  return async (ctx, next) => {
    const { holder, counted, freshness } = await lookUpHolder(keyDigestOf(ctx))
    ctx.state.holder = holder
    recordUse(holder)
    // The limit first, so that a refusal for want of capacity tells it, too.
    enforceRateLimit(ctx, requestsPerMinute, await fromRedis(counted))
    admitTeam(ctx, holder.teamId)
    Object.assign(ctx.state, { freshness })
    return next()
  }
}

/** The digest of the key that a request carries. Throws `unauthorized` without one. */
export function keyDigestOf(ctx: Pick<ApiContext, 'req' | 'get'>): Digest {
  if ((ctx.req.headersDistinct['authorization'] ?? []).length > 1)
    throw apiError('bad_request', 'Authorization must be sent only once')
  const token = bearerToken(ctx.get('Authorization'))
  if (!token.startsWith(accountKeyPrefix)) throw unauthorized(token !== '')
  return digestOf(token)
}

export const unauthorized = (isTokenSent: boolean): ApiError =>
  apiError('unauthorized', errorMessages.unauthorized, {
    headers: { 'WWW-Authenticate': isTokenSent ? 'Bearer error="invalid_token"' : 'Bearer' },
    rejection: 'unauthorized',
  })

/** The token of an Authorization header; empty if it carries none. */
const bearerToken = (header: string): string => /^Bearer +(?<token>.*)$/i.exec(header)?.groups?.['token'] ?? ''

/**
 * Looks up the holder of a key, and counts its request. The request is counted together with the lookup if the key's last holder is
 * remembered, which saves a round trip to Redis. If the lookup finds another holder, that result is discarded.
 */
export function createHolderLookup(
  keys: Pick<AccountKeyStore, 'lookup'>,
  count: (holder: KeyHolder) => Promise<CountedRequest>,
  nowMs: () => number,
): HolderLookup {
  const lastHolders = new LRUCache<Digest, KeyHolder>({ max: maxKeys })
  const startCounting = (holder: KeyHolder): Promise<CountedRequest> => {
    const counted = count(holder)
    // A refused request does not await the result, and an unhandled rejection would end the process. Others still see the error.
    counted.catch(() => undefined)
    return counted
  }
  return async (digest) => {
    const lookingUp = lookUp(keys, digest)
    const expected = lastHolders.get(digest)
    const early = expected === undefined ? undefined : startCounting(expected)
    const lookup = await lookingUp
    if (lookup.found === null || !isValid(lookup.found, nowMs())) {
      lastHolders.delete(digest)
      throw unauthorized(true)
    }
    const { found: holder, freshness } = lookup
    lastHolders.set(digest, holder)
    const isExpected = expected?.teamId === holder.teamId && expected.keyId === holder.keyId
    return { holder, freshness, counted: isExpected && early !== undefined ? early : startCounting(holder) }
  }
}

/** Throws when the key cannot be judged now. */
async function lookUp(keys: Pick<AccountKeyStore, 'lookup'>, digest: Digest): Promise<Exclude<Lookup, 'incomplete'>> {
  const lookup = await fromRedis(keys.lookup(digest))
  if (lookup === 'incomplete') throw new AccountKeysIncomplete()
  return lookup
}

/**
 * Judges the key of a request again, which may have been revoked or have expired while the request waited, and sets the freshness of
 * now in the state. Counts no request.
 */
export const createRecheck =
  (keys: Pick<AccountKeyStore, 'lookup'>, nowMs: () => number) =>
  async (ctx: RouteContext): Promise<void> => {
    const lookup = await lookUp(keys, keyDigestOf(ctx))
    if (lookup.found === null || !isHeldBy(ctx.state.holder, lookup.found, nowMs())) throw unauthorized(true)
    ctx.state.freshness = lookup.freshness
  }

/** Whether a key is still valid, and that of the holder for whom its request was accepted. */
export const isHeldBy = ({ teamId, keyId }: KeyHolder, found: KeyHolder | null, nowMs: number): boolean =>
  found !== null && isValid(found, nowMs) && found.teamId === teamId && found.keyId === keyId

const isValid = ({ state, expiresAtMs }: KeyHolder, nowMs: number): boolean =>
  state === 'active' && (expiresAtMs === null || nowMs < expiresAtMs)

/** Records each key's use at most once a minute. No request waits for the record, or fails without it. */
export function createUseRecorder(
  record: (holder: KeyHolder, minuteMs: number) => Promise<void>,
  nowMs: () => number,
): (holder: KeyHolder) => void {
  const lastMinutes = new LRUCache<string, number>({ max: maxKeys })
  return (holder) => {
    const key = `${holder.teamId}/${holder.keyId}`
    const minuteMs = minuteOf(nowMs())
    if (lastMinutes.get(key) === minuteMs) return
    lastMinutes.set(key, minuteMs)
    record(holder, minuteMs).catch(() => undefined)
  }
}
