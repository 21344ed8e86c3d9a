import { LRUCache } from 'lru-cache'
import { accountKeyPrefix, digestOf } from '../core/model/accountKey.ts'
import type { Digest } from '../core/model/ids.ts'
import { type AccountKeyStore, AccountKeysIncomplete, type KeyHolder } from '../core/stores/accountKeyStore.ts'
import { minuteOf } from '../core/stores/keyLastUse.ts'
import type { Freshness } from '../core/stores/listVersions.ts'
import { fromRedis } from '../core/stores/redis.ts'
import { createTeamAdmission } from './admission.ts'
import type { ApiContext, ApiMiddleware } from './context.ts'
import { type ApiError, apiError } from './errors.ts'
import { type CountedRequest, enforceRateLimit } from './rateLimit.ts'

/** Keys that a process remembers. */
const maxKeys = 10_000

/** What Redis is asked about the holder of a key. */
export type HolderQueries = {
  readonly counted: Promise<CountedRequest>
  readonly freshness: Promise<Freshness>
}

type HolderLookup = (digest: Digest) => Promise<HolderQueries & { readonly holder: KeyHolder }>

type AuthenticationDeps = {
  readonly lookUpHolder: HolderLookup
  readonly requestsPerMinute: number
  readonly recordUse: (holder: KeyHolder) => void
}

/**
 * Lets a request pass if it has an active account key, and neither its team's share of concurrent requests nor its key's rate limit is
 * exceeded. Sets the key's holder and the freshness of the team's lists in the state.
 */
export function authenticate({ lookUpHolder, requestsPerMinute, recordUse }: AuthenticationDeps): ApiMiddleware {
  const admitTeam = createTeamAdmission()
  return async (ctx, next) => {
    const { holder, counted, freshness } = await lookUpHolder(keyDigestOf(ctx))
    ctx.state.holder = holder
    admitTeam(ctx.res, holder.teamId)
    recordUse(holder)
    enforceRateLimit(ctx, requestsPerMinute, await fromRedis(counted))
    Object.assign(ctx.state, { freshness: await fromRedis(freshness) })
    return next()
  }
}

function keyDigestOf(ctx: ApiContext): Digest {
  if ((ctx.req.headersDistinct['authorization'] ?? []).length > 1)
    throw apiError('bad_request', 'Authorization must be sent only once')
  const token = bearerToken(ctx.get('Authorization'))
  if (!token.startsWith(accountKeyPrefix)) throw unauthorized(token !== '')
  return digestOf(token)
}

const unauthorized = (isTokenSent: boolean): ApiError =>
  apiError('unauthorized', 'a valid account API key is required: Authorization: Bearer <API_KEY>', {
    headers: { 'WWW-Authenticate': isTokenSent ? 'Bearer error="invalid_token"' : 'Bearer' },
    rejection: 'unauthorized',
  })

/** The token of an Authorization header; empty if it carries none. */
const bearerToken = (header: string): string => /^Bearer +(?<token>.*)$/i.exec(header)?.groups?.['token'] ?? ''

/**
 * Looks up the holder of a key, and sends the queries about that holder. They are sent together with the lookup if the key's last
 * holder is remembered, which saves a round trip to Redis. If the lookup finds another holder, their results are discarded.
 */
export function createHolderLookup(
  keys: Pick<AccountKeyStore, 'lookup'>,
  queryHolder: (holder: KeyHolder) => HolderQueries,
  nowMs: () => number,
): HolderLookup {
  const lastHolders = new LRUCache<Digest, KeyHolder>({ max: maxKeys })
  const query = (holder: KeyHolder): HolderQueries => {
    const queries = queryHolder(holder)
    // A refused request awaits neither result, and an unhandled rejection would end the process. Every other request still sees the error.
    for (const result of [queries.counted, queries.freshness]) result.catch(() => undefined)
    return queries
  }
  return async (digest) => {
    const lookingUp = fromRedis(keys.lookup(digest))
    const expected = lastHolders.get(digest)
    const early = expected === undefined ? undefined : query(expected)
    const lookup = await lookingUp
    if (lookup === 'incomplete') throw new AccountKeysIncomplete()
    const holder = lookup.found
    if (holder === null || !isValid(holder, nowMs())) {
      lastHolders.delete(digest)
      throw unauthorized(true)
    }
    lastHolders.set(digest, holder)
    const isExpected = expected?.teamId === holder.teamId && expected.keyId === holder.keyId
    return { ...(isExpected && early !== undefined ? early : query(holder)), holder }
  }
}

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
