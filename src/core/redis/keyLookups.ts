import { LRUCache } from 'lru-cache'
import { type Digest, type EntityId, randomToken, type TeamId } from '../model/ids.ts'
import {
  type Freshness,
  type FreshnessReply,
  freshnessIn,
  freshnessLua,
  freshnessValueCount,
  freshnessValues,
} from './listVersions.ts'
import { type RedisConnection, script } from './redis.ts'

/** Perhaps revoked or expired. `expiresAtMs` (epoch ms): null without expiry. */
export type FoundKey = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

export const isValid = ({ state, expiresAtMs }: FoundKey, nowMs: number): boolean =>
  state === 'active' && (expiresAtMs === null || nowMs < expiresAtMs)

export type RequestWindow = { readonly requests: number; readonly leftMs: number }

/** `key`: `<teamId>/<keyId>`. Resolves with the window after the last request. */
export type CountRequests = (key: string, requests: number) => Promise<RequestWindow>

/**
 * `found`: perhaps a revoked or expired key (`isValid`). `window.requests`: the number of this request; 0 if not counted. `unknown`: no key has this digest, or
 * it is contested (accountKeyScripts.ts). `incomplete`: Redis may lack the key.
 */
export type Lookup =
  | {
      readonly kind: 'found'
      readonly accountKey: FoundKey
      readonly freshness: Freshness
      readonly window: RequestWindow
    }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'incomplete' }

/** With `countedAtMs` (epoch ms), also counts the request if the key is valid at that time. */
export type LookUpKey = (digest: Digest, countedAtMs?: number) => Promise<Lookup>

const lastUseLifeSeconds = 90 * 86_400
/** More digests would block Redis for too long. */
const maxKeysPerCall = 64
/** The next request with an evicted digest needs a second round trip. */
const maxCachedDigests = 10_000

/** Indices in ARGV, which begins at 1. */
const freshnessAt = 2
const digestsAt = freshnessAt + freshnessValueCount

/** ARGV: name of `accountKeysComplete`, `freshnessValues`, then the names of the hashes `accountKey` of the digests. Returns a `LookupReply`. */
const lookupScript = script(`${freshnessLua}
local function lookUp(digest)
  local found = redis.call('HVALS', digest)
  if #found ~= 1 then return false end
  return {found[1], unpack(freshnessOf(cjson.decode(found[1]).teamId, ${freshnessAt}))}
end
local replies = {redis.call('GET', ARGV[1])}
for i = ${digestsAt}, #ARGV do table.insert(replies, lookUp(ARGV[i])) end
return replies`)

type LookupReply = readonly [complete: string | null, ...(readonly [key: string, ...FreshnessReply] | null)[]]

type PendingLookup = {
  readonly digest: Digest
  readonly countedAtMs: number | undefined
  readonly requests: { resolve(lookup: Lookup): void; reject(error: unknown): void }[]
}

/** Counted for the key that the digest had at the look-up before. */
type Counted = { readonly key: string; readonly window: Promise<RequestWindow> }

const uncounted: RequestWindow = { requests: 0, leftMs: 0 }

/**
 * Looks keys up, and counts requests by `count`. One call to Redis is under way at a time. Requests that arrive meanwhile share the next call: it begins after
 * they arrived, so they read everything that was written before. If the call under way fails, they fail, too.
 */
export function shareLookups(redis: RedisConnection, count: CountRequests = async () => uncounted): LookUpKey {
  const { countAhead, answer } = countingIn(redis, count)
  let underWay: readonly PendingLookup[] = []
  /** By digest, and whether counted. */
  let waiting = new Map<string, PendingLookup>()

  const call = async (lookups: readonly PendingLookup[]): Promise<void> => {
    const { accountKeysComplete, accountKey } = redis.keys
    const tokenIfMissing = randomToken()
    const names = [accountKeysComplete, ...freshnessValues(redis.keys, tokenIfMissing)]
    const digests = lookups.map(({ digest }) => accountKey(digest))
    // Not awaited yet: the counts go in the same round trip.
    const sent = lookupScript(redis, [], [...names, ...digests])
    const counted = lookups.map(countAhead)
    const [complete, ...replies] = (await sent) as LookupReply
    const isComplete = complete !== null && complete === redis.runId()
    for (const [at, pending] of lookups.entries()) {
      const lookup: Lookup = isComplete ? lookupIn(replies[at]) : { kind: 'incomplete' }
      answer(pending, lookup, counted[at]).catch((error: unknown) => rejectAll(pending, error))
    }
  }

  const callForAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const all = [...waiting]
      underWay = all.slice(0, maxKeysPerCall).map(([, pending]) => pending)
      waiting = new Map(all.slice(maxKeysPerCall))
      await call(underWay)
    }
    underWay = []
  }

  const failAll = (error: unknown): void => {
    const failed = [...underWay, ...waiting.values()]
    underWay = []
    waiting.clear()
    for (const pending of failed) rejectAll(pending, error)
  }

  return (digest, countedAtMs) => {
    const name = `${digest} ${countedAtMs !== undefined}`
    const { promise, ...request } = Promise.withResolvers<Lookup>()
    const pending = waiting.get(name) ?? { digest, countedAtMs, requests: [] }
    pending.requests.push(request)
    waiting.set(name, pending)
    if (underWay.length === 0) callForAll().catch(failAll)
    return promise
  }
}

interface Counting {
  /** Undefined if the key of the digest is not cached, or the requests are not counted. */
  readonly countAhead: (pending: PendingLookup) => Counted | undefined
  /**
   * Resolves each request with its own number: if 3 share a look-up, after which the window has 7, they get 5, 6 and 7. Stores the time of a window's first
   * request as the key's last use.
   */
  readonly answer: (pending: PendingLookup, lookup: Lookup, counted: Counted | undefined) => Promise<void>
}

/**
 * Counts in the round trip of the look-up if the last key of the digest is cached. Otherwise afterwards, and only for a valid key, so that unknown digests
 * create no counters.
 */
function countingIn({ client, keys }: RedisConnection, count: CountRequests): Counting {
  /** Digest → `<teamId>/<keyId>` of its valid key at the last look-up. */
  const keyOfDigest = new LRUCache<Digest, string>({ max: maxCachedDigests })

  /** For display only: no request waits for this or fails with it. */
  const noteUse = ({ teamId, keyId }: FoundKey, atMs: number): void => {
    const name = keys.lastUse(teamId)
    Promise.all([client.hset(name, keyId, atMs), client.expire(name, lastUseLifeSeconds)]).catch(() => undefined)
  }

  return {
    countAhead: ({ digest, countedAtMs, requests }) => {
      const key = countedAtMs === undefined ? undefined : keyOfDigest.get(digest)
      if (key === undefined) return undefined
      const window = count(key, requests.length)
      // Nobody awaits it if the look-up fails or the key is refused.
      window.catch(() => undefined)
      return { key, window }
    },
    answer: async (pending, lookup, counted) => {
      const { digest, countedAtMs, requests } = pending
      if (lookup.kind === 'incomplete' || countedAtMs === undefined) return resolveAll(pending, lookup)
      if (lookup.kind === 'unknown' || !isValid(lookup.accountKey, countedAtMs)) {
        keyOfDigest.delete(digest)
        return resolveAll(pending, lookup)
      }
      const { accountKey } = lookup
      const key = `${accountKey.teamId}/${accountKey.keyId}`
      keyOfDigest.set(digest, key)
      const window = await (counted?.key === key ? counted.window : count(key, requests.length))
      const isFirstOfWindow = window.requests === requests.length
      if (isFirstOfWindow) noteUse(accountKey, countedAtMs)
      const before = window.requests - requests.length
      for (const [nth, { resolve }] of requests.entries())
        resolve({ ...lookup, window: { ...window, requests: before + nth + 1 } })
    },
  }
}

function resolveAll({ requests }: PendingLookup, lookup: Lookup): void {
  for (const { resolve } of requests) resolve(lookup)
}

function rejectAll({ requests }: PendingLookup, error: unknown): void {
  for (const { reject } of requests) reject(error)
}

function lookupIn(reply: LookupReply[1] | undefined): Lookup {
  if (reply == null) return { kind: 'unknown' }
  const [key, ...freshness] = reply
  return {
    kind: 'found',
    accountKey: JSON.parse(key) as FoundKey,
    freshness: freshnessIn(freshness),
    window: uncounted,
  }
}

/**
 * In the same order; null for an unknown or contested digest. Undefined if Redis lacked keys before or after: a null would not prove that no such key exists.
 */
export async function findKeys(
  { client, keys, runId }: RedisConnection,
  digests: readonly Digest[],
): Promise<(FoundKey | null)[] | undefined> {
  // The client sends these in this order.
  const readBefore = client.get(keys.accountKeysComplete)
  const hashes = digests.map((digest) => client.hvals(keys.accountKey(digest)))
  const readAfter = client.get(keys.accountKeysComplete)
  const [before, after, ...keysOfDigests] = await Promise.all([readBefore, readAfter, ...hashes])
  if (before === null || before !== after || after !== runId()) return undefined
  return keysOfDigests.map(([key, ...others]) => {
    const isUnique = key !== undefined && others.length === 0
    return isUnique ? (JSON.parse(key) as FoundKey) : null
  })
}
