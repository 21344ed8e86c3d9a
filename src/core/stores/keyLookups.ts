import { type Digest, type EntityId, randomToken, type TeamId } from '../model/ids.ts'
import { type Freshness, type FreshnessReply, freshnessIn, freshnessLua, freshnessValues } from './listVersions.ts'
import { type RedisConnection, script } from './redis.ts'

/** The key behind a digest. `expiresAtMs` (epoch ms) is null for a key without expiry. */
export type KeyHolder = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

/** A key's requests in its current rate-limit window, and the milliseconds until the window ends. */
export type RequestWindow = { readonly requests: number; readonly leftMs: number }

/** The result of a look-up; `requests` of `window` is 0 unless this request was counted. */
export type Lookup =
  | { readonly found: KeyHolder; readonly freshness: Freshness; readonly window: RequestWindow }
  | { readonly found: null }
  | 'incomplete'

const lastUseLifeSeconds = 90 * 86_400
/** Bounds a call, because Redis blocks while it runs a script. */
const maxKeysPerCall = 64

/**
 * Looks keys up, each with the number of requests that it is asked for. They count if the key is valid and the window longer than 0 ms. The
 * first request of a window starts the window, and is stored as the last use of the key.
 */
const lookupScript = script(`${freshnessLua}
local complete, limits, lastUses = redis.call('GET', ARGV[1]), ARGV[2], ARGV[3]
local function lookUp(digest, nowMs, windowMs, asking)
  local holders = redis.call('HVALS', digest)
  if #holders ~= 1 then return false end
  local holder = cjson.decode(holders[1])
  local isExpired = holder.expiresAtMs ~= cjson.null and nowMs >= holder.expiresAtMs
  local requests, leftMs = 0, 0
  if windowMs > 0 and holder.state == 'active' and not isExpired then
    local window, lastUse = limits .. ':' .. holder.teamId .. '/' .. holder.keyId, lastUses .. holder.teamId
    if redis.call('SET', window, 0, 'PX', windowMs, 'NX') then
      redis.call('HSET', lastUse, holder.keyId, string.format('%.0f', nowMs))
      redis.call('EXPIRE', lastUse, ${lastUseLifeSeconds})
    end
    requests, leftMs = redis.call('INCRBY', window, asking), redis.call('PTTL', window)
  end
  return {holders[1], requests, leftMs, unpack(freshnessOf(holder.teamId, 4))}
end
local found = {complete}
for i = 9, #ARGV, 4 do
  table.insert(found, lookUp(ARGV[i], tonumber(ARGV[i + 1]), tonumber(ARGV[i + 2]), ARGV[i + 3]))
end
return found`)

type LookupReply = readonly [
  complete: string | null,
  ...(readonly [holder: string, requests: number, leftMs: number, ...FreshnessReply] | null)[],
]

/** Requests with one key that wait for the same call. */
type Asking = {
  readonly digest: Digest
  readonly nowMs: number
  readonly windowMs: number
  readonly requests: { resolve(lookup: Lookup): void; reject(error: unknown): void }[]
}

/**
 * Returns a function that looks a key up by its digest, counts a request if the key is valid at `nowMs` (epoch ms) in its window of
 * `windowMs`, and reads the freshness of its team's lists. A digest shared by several live keys, even revoked ones, finds none.
 *
 * One call to Redis is under way at a time. Requests that arrive meanwhile share the next one, which so reads after they arrived; when the
 * call fails that they wait for, they fail with it.
 */
export function shareLookups(redis: RedisConnection) {
  /** In the call that is under way; empty while none is. */
  let asked: readonly Asking[] = []
  let waiting = new Map<string, Asking>()

  const call = async (asking: readonly Asking[]): Promise<void> => {
    const { accountKeysComplete, accountKey, limitPrefix, lastUse } = redis.keys
    const names = [accountKeysComplete, limitPrefix, lastUse(''), ...freshnessValues(redis.keys, randomToken())]
    const valuesOf = ({ digest, nowMs, windowMs, requests }: Asking) =>
      [accountKey(digest), nowMs, windowMs, requests.length] as const
    const [complete, ...found] = (await lookupScript(redis, [], [...names, ...asking.flatMap(valuesOf)])) as LookupReply
    const isComplete = complete !== null && complete === redis.runId()
    for (const [at, { requests }] of asking.entries()) {
      const lookups = isComplete ? lookupsIn(found[at], requests.length, complete) : undefined
      for (const [nth, { resolve }] of requests.entries()) resolve(lookups?.(nth) ?? 'incomplete')
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
    const failed = [...asked, ...waiting.values()].flatMap(({ requests }) => requests)
    asked = []
    waiting.clear()
    for (const { reject } of failed) reject(error)
  }

  return (digest: Digest, nowMs = 0, windowMs = 0): Promise<Lookup> => {
    const name = `${digest} ${windowMs}`
    const { promise, ...request } = Promise.withResolvers<Lookup>()
    const asking = waiting.get(name) ?? { digest, nowMs, windowMs, requests: [] }
    asking.requests.push(request)
    waiting.set(name, asking)
    if (asked.length === 0) callForAll().catch(failAll)
    return promise
  }
}

/** What each of `count` requests with one key is told; the last one is the last in the window. */
function lookupsIn(found: LookupReply[1] | undefined, count: number, runId: string): (nth: number) => Lookup {
  if (found == null) return () => ({ found: null })
  const [holder, requests, leftMs, ...read] = found
  const [parsed, freshness] = [JSON.parse(holder) as KeyHolder, freshnessIn(read, runId)]
  const before = Math.max(0, requests - count)
  return (nth) => ({ found: parsed, freshness, window: { requests: requests && before + nth + 1, leftMs } })
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
