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

/** An account key as a look-up finds it, perhaps revoked or expired. `expiresAtMs` (epoch ms) is null for a key without expiry. */
export type FoundKey = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

export const isValid = ({ state, expiresAtMs }: FoundKey, nowMs: number): boolean =>
  state === 'active' && (expiresAtMs === null || nowMs < expiresAtMs)

export type RequestWindow = { readonly requests: number; readonly leftMs: number }

/** Resolves with the window of the key `<teamId>/<keyId>` after the last of these requests. */
export type CountRequests = (key: string, requests: number) => Promise<RequestWindow>

/**
 * `found`: a key has this digest; it may be revoked or expired (`isValid`). `window.requests` is 0 unless this request was counted. `unknown`: no key has
 * this digest, or it is contested (accountKeyScripts.ts). `incomplete`: Redis may lack account keys, so the digest may belong to a missing key.
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

/** With `countedAtMs` (epoch ms), counts the request if the key is valid at that time. */
export type LookUp = (digest: Digest, countedAtMs?: number) => Promise<Lookup>

const lastUseLifeSeconds = 90 * 86_400
/** More digests would block Redis for too long: while it runs the script, Redis answers no other client. */
const maxKeysPerCall = 64
/** The bound of `opened`: the next request with an evicted digest needs a second round trip. */
const maxOpened = 10_000

/** A contested digest finds no key, even if all but one of its keys are revoked. */
const lookupScript = script(`${freshnessLua}
local function lookUp(digest)
  local found = redis.call('HVALS', digest)
  if #found ~= 1 then return false end
  return {found[1], unpack(freshnessOf(cjson.decode(found[1]).teamId, 2))}
end
local replies = {redis.call('GET', ARGV[1])}
for i = ${2 + freshnessValueCount}, #ARGV do table.insert(replies, lookUp(ARGV[i])) end
return replies`)

type LookupReply = readonly [complete: string | null, ...(readonly [key: string, ...FreshnessReply] | null)[]]

/** Requests with the same digest that share a call. */
type PendingLookup = {
  readonly digest: Digest
  /** Undefined for requests that are not counted. */
  readonly countedAtMs: number | undefined
  readonly requests: { resolve(lookup: Lookup): void; reject(error: unknown): void }[]
}

/** A count that was sent with a look-up, for the key that the digest had before. */
type Counted = { readonly key: string; readonly window: Promise<RequestWindow> }

const uncounted: RequestWindow = { requests: 0, leftMs: 0 }

/**
 * Looks keys up for requests, and counts the requests by `count`. One call to Redis is under way at a time. Requests that arrive meanwhile share the next
 * call, so that they read what was written before they arrived. If the call under way fails, so do the requests that wait for the next call.
 */
export function shareLookups(redis: RedisConnection, count: CountRequests = async () => uncounted): LookUp {
  const { countAhead, answer } = countingIn(redis, count)
  let underWay: readonly PendingLookup[] = []
  let waiting = new Map<string, PendingLookup>()

  const call = async (lookups: readonly PendingLookup[]): Promise<void> => {
    const { accountKeysComplete, accountKey } = redis.keys
    const names = [accountKeysComplete, ...freshnessValues(redis.keys, randomToken())]
    const digests = lookups.map(({ digest }) => accountKey(digest))
    // Not awaited yet, so that the client sends the counts in the same round trip.
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
  /** Sends the count. Undefined if the key of the digest is not cached, or the requests are not counted. */
  readonly countAhead: (pending: PendingLookup) => Counted | undefined
  /**
   * Each request gets its own number in the window. Example: 3 requests share a call, after which the window has 7, so they get 5, 6 and 7. The time of a
   * window's first request is the key's last use.
   */
  readonly answer: (pending: PendingLookup, lookup: Lookup, counted: Counted | undefined) => Promise<void>
}

/**
 * If the key that a digest had last is cached, requests are counted in the round trip of the look-up. Otherwise they are counted after it, and only if the
 * key is valid, so that unknown digests create no counters.
 */
function countingIn({ client, keys }: RedisConnection, count: CountRequests): Counting {
  const opened = new LRUCache<Digest, string>({ max: maxOpened })

  /** For display only, so no request waits for this or fails with it. */
  const noteUse = ({ teamId, keyId }: FoundKey, atMs: number): void => {
    const name = keys.lastUse(teamId)
    Promise.all([client.hset(name, keyId, atMs), client.expire(name, lastUseLifeSeconds)]).catch(() => undefined)
  }

  return {
    countAhead: ({ digest, countedAtMs, requests }) => {
      const key = countedAtMs === undefined ? undefined : opened.get(digest)
      if (key === undefined) return undefined
      const window = count(key, requests.length)
      // Nobody awaits the window if the look-up fails or the key is refused.
      window.catch(() => undefined)
      return { key, window }
    },
    answer: async (pending, lookup, counted) => {
      const { digest, countedAtMs, requests } = pending
      if (lookup.kind === 'incomplete' || countedAtMs === undefined) return resolveAll(pending, lookup)
      if (lookup.kind === 'unknown' || !isValid(lookup.accountKey, countedAtMs)) {
        opened.delete(digest)
        return resolveAll(pending, lookup)
      }
      const { accountKey } = lookup
      const key = `${accountKey.teamId}/${accountKey.keyId}`
      opened.set(digest, key)
      const window = await (counted?.key === key ? counted.window : count(key, requests.length))
      if (window.requests === requests.length) noteUse(accountKey, countedAtMs)
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
 * Null for an unknown or contested digest. Undefined unless the store is complete before and after: if Redis loses all keys meanwhile, or a replay
 * ends, a null proves nothing.
 */
export async function findKeys(
  { client, keys, runId }: RedisConnection,
  digests: readonly Digest[],
): Promise<(FoundKey | null)[] | undefined> {
  const before = client.get(keys.accountKeysComplete)
  const hashes = digests.map((digest) => client.hvals(keys.accountKey(digest)))
  const [first, last, ...claims] = await Promise.all([before, client.get(keys.accountKeysComplete), ...hashes])
  if (first === null || first !== last || last !== runId()) return undefined
  return claims.map(([key, ...others]) =>
    key === undefined || others.length > 0 ? null : (JSON.parse(key) as FoundKey),
  )
}
