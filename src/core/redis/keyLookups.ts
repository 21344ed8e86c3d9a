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

/** The key behind a digest. `expiresAtMs` (epoch ms) is null for a key without expiry. */
export type KeyHolder = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

/** Whether a key is accepted at `nowMs` (epoch ms). */
export const isValid = ({ state, expiresAtMs }: KeyHolder, nowMs: number): boolean =>
  state === 'active' && (expiresAtMs === null || nowMs < expiresAtMs)

/** A key's requests in its current rate-limit window, and the milliseconds until the window ends. */
export type RequestWindow = { readonly requests: number; readonly leftMs: number }

/** Counts `requests` of the key `<teamId>/<keyId>` in its window; `RequestWindow` is that of the last one. */
export type CountRequests = (key: string, requests: number) => Promise<RequestWindow>

/** The result of a look-up; `requests` of `window` is 0 unless this request was counted. */
export type Lookup =
  | { readonly found: KeyHolder; readonly freshness: Freshness; readonly window: RequestWindow }
  | { readonly found: null }
  | 'incomplete'

/** Looks a key up by its digest, and counts the request if the key is valid at `countedAtMs` (epoch ms), which is left out to count none. */
export type LookUp = (digest: Digest, countedAtMs?: number) => Promise<Lookup>

const lastUseLifeSeconds = 90 * 86_400
/** Bounds a call, because Redis blocks while it runs a script. */
const maxKeysPerCall = 64
/** The digests whose keys are remembered; the next request with another one takes a round trip more. */
const maxOpened = 10_000

/** Finds the holders of digests, and the freshness of their teams' lists. A digest shared by several live keys, even revoked ones, finds none. */
const lookupScript = script(`${freshnessLua}
local function lookUp(digest)
  local holders = redis.call('HVALS', digest)
  if #holders ~= 1 then return false end
  return {holders[1], unpack(freshnessOf(cjson.decode(holders[1]).teamId, 2))}
end
local found = {redis.call('GET', ARGV[1])}
for i = ${2 + freshnessValueCount}, #ARGV do table.insert(found, lookUp(ARGV[i])) end
return found`)

type LookupReply = readonly [complete: string | null, ...(readonly [holder: string, ...FreshnessReply] | null)[]]

/** Requests with one key that wait for the same call. */
type Asking = {
  readonly digest: Digest
  readonly countedAtMs: number | undefined
  readonly requests: { resolve(lookup: Lookup): void; reject(error: unknown): void }[]
}

/** Requests that were counted for a key before it was looked up. */
type Counted = { readonly key: string; readonly window: Promise<RequestWindow> }

const uncounted: RequestWindow = { requests: 0, leftMs: 0 }

/**
 * Returns a function that looks keys up for requests, and counts them by `count`. One call to Redis is under way at a time. Requests that arrive
 * meanwhile share the next one, which so reads after they arrived; when the call fails that they wait for, they fail with it.
 */
export function shareLookups(redis: RedisConnection, count: CountRequests = async () => uncounted): LookUp {
  const { countAhead, answer } = countingIn(redis, count)
  /** In the call that is under way; empty while none is. */
  let asked: readonly Asking[] = []
  let waiting = new Map<string, Asking>()

  const call = async (asking: readonly Asking[]): Promise<void> => {
    const { accountKeysComplete, accountKey } = redis.keys
    const names = [accountKeysComplete, ...freshnessValues(redis.keys, randomToken())]
    const looking = lookupScript(redis, [], [...names, ...asking.map(({ digest }) => accountKey(digest))])
    const counted = asking.map(countAhead)
    const [complete, ...found] = (await looking) as LookupReply
    const isComplete = complete !== null && complete === redis.runId()
    for (const [at, each] of asking.entries()) {
      const lookup = isComplete ? lookupIn(found[at]) : 'incomplete'
      answer(each, lookup, counted[at]).catch((error: unknown) => rejectAll(each, error))
    }
  }

  const callForAll = async (): Promise<void> => {
    while (waiting.size > 0) {
      const all = [...waiting]
      asked = all.slice(0, maxKeysPerCall).map(([, asking]) => asking)
      waiting = new Map(all.slice(maxKeysPerCall))
      await call(asked)
    }
    asked = []
  }

  const failAll = (error: unknown): void => {
    const failed = [...asked, ...waiting.values()]
    asked = []
    waiting.clear()
    for (const each of failed) rejectAll(each, error)
  }

  return (digest, countedAtMs) => {
    const name = `${digest} ${countedAtMs !== undefined}`
    const { promise, ...request } = Promise.withResolvers<Lookup>()
    const asking = waiting.get(name) ?? { digest, countedAtMs, requests: [] }
    asking.requests.push(request)
    waiting.set(name, asking)
    if (asked.length === 0) callForAll().catch(failAll)
    return promise
  }
}

/**
 * Requests are counted for a key, but arrive with a digest. If the digest opened a key a moment ago, they are counted for that key in the round
 * trip of the look-up; else only once the look-up has accepted the key. So digests that open no key make no counters.
 */
function countingIn({ client, keys }: RedisConnection, count: CountRequests) {
  const opened = new LRUCache<Digest, string>({ max: maxOpened })

  /** Stores the last use of a key. No request waits for it or fails with it: it is for display only. */
  const noteUse = ({ teamId, keyId }: KeyHolder, atMs: number): void => {
    const name = keys.lastUse(teamId)
    Promise.all([client.hset(name, keyId, atMs), client.expire(name, lastUseLifeSeconds)]).catch(() => undefined)
  }

  return {
    /** Counts requests for the key that their digest opened last. */
    countAhead: ({ digest, countedAtMs, requests }: Asking): Counted | undefined => {
      const key = countedAtMs === undefined ? undefined : opened.get(digest)
      if (key === undefined) return undefined
      const window = count(key, requests.length)
      // The look-up may refuse the key, or fail: then nobody asks for the window.
      window.catch(() => undefined)
      return { key, window }
    },
    /** Tells requests what was found, and their places in the window. Its first request is the last use of the key. */
    answer: async (asking: Asking, lookup: Lookup, counted: Counted | undefined): Promise<void> => {
      const { digest, countedAtMs, requests } = asking
      if (lookup === 'incomplete' || countedAtMs === undefined) return resolveAll(asking, lookup)
      if (lookup.found === null || !isValid(lookup.found, countedAtMs)) {
        opened.delete(digest)
        return resolveAll(asking, lookup)
      }
      const key = `${lookup.found.teamId}/${lookup.found.keyId}`
      opened.set(digest, key)
      const window = await (counted?.key === key ? counted.window : count(key, requests.length))
      if (window.requests === requests.length) noteUse(lookup.found, countedAtMs)
      const before = window.requests - requests.length
      for (const [nth, { resolve }] of requests.entries())
        resolve({ ...lookup, window: { ...window, requests: before + nth + 1 } })
    },
  }
}

function resolveAll({ requests }: Asking, lookup: Lookup): void {
  for (const { resolve } of requests) resolve(lookup)
}

function rejectAll({ requests }: Asking, error: unknown): void {
  for (const { reject } of requests) reject(error)
}

function lookupIn(found: LookupReply[1] | undefined): Exclude<Lookup, 'incomplete'> {
  if (found == null) return { found: null }
  const [holder, ...read] = found
  return { found: JSON.parse(holder) as KeyHolder, freshness: freshnessIn(read), window: uncounted }
}

/**
 * The holders of keys in the order of `digests`, in one round trip; null for a digest that no key has, or several live keys share.
 * Undefined unless the store is complete before and after: in between, Redis may lose all keys, or a replay end.
 */
export async function readHolders({ client, keys, runId }: RedisConnection, digests: readonly Digest[]) {
  const before = client.get(keys.accountKeysComplete)
  const asked = digests.map((digest) => client.hvals(keys.accountKey(digest)))
  const [first, last, ...found] = await Promise.all([before, client.get(keys.accountKeysComplete), ...asked])
  if (first === null || first !== last || last !== runId()) return undefined
  return found.map(([holder, ...others]) =>
    holder === undefined || others.length > 0 ? null : (JSON.parse(holder) as KeyHolder),
  )
}
