import { type AccountKey, type AccountKeyState, accountKeyValue, maxKeysPerTeam } from '../model/accountKey.ts'
import { type Branded, type Digest, type EntityId, type Revision, randomToken, type TeamId } from '../model/ids.ts'
import { type Freshness, type FreshnessReply, freshnessIn, freshnessLua, freshnessValues } from './listVersions.ts'
import { type RedisConnection, script } from './redis.ts'

/** Whose key a digest is. `expiresAtMs` is null for a key without expiry. */
export type KeyHolder = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

/** The newest state of a live key in its records. */
export type StoredKey = AccountKey & { readonly revision: Revision }

export const stateOf = ({ revision, ...key }: StoredKey): AccountKeyState => ({ revision, key })

/** Where a record was appended, as text that sorts in the order of its partition. */
export type AppendPosition = Branded<string, 'AppendPosition'>

/** The requests with a key in its current window, and when that ends. */
export type RequestWindow = { readonly requests: number; readonly leftMs: number }

/** The holder of a key, with how fresh the lists of its team are. `window` has no requests unless this one was counted. */
export type Lookup =
  | { readonly found: KeyHolder; readonly freshness: Freshness; readonly window: RequestWindow }
  | { readonly found: null }
  | 'incomplete'

/**
 * What became of a state. Only `applied` changes the store; `stale`: the same or a newer state is stored; `conflict`: its revision is stored
 * with another content. `newest` is what is stored if this record was appended after it: compaction would keep this record.
 */
export type Applied = {
  readonly kind: 'applied' | 'incomplete' | 'stale' | 'conflict'
  readonly newest: AccountKeyState | undefined
}

/** `held`: the id has a key already; `surplus`: it has one, and the team holds all its slots without it. */
type Reserved = 'reserved' | 'full' | 'held' | 'surplus' | 'deleted'

/** A digest that several live keys claim, with those keys (`<teamId>/<keyId>`). */
export type ContestedDigest = { readonly digest: Digest; readonly keys: readonly string[] }

/** Redis has lost account keys, and the indexer has not replayed them yet. */
export class AccountKeysIncomplete extends Error {
  constructor() {
    super('the account-key store is not complete until an indexer has replayed the keys; is one running?')
    this.name = 'AccountKeysIncomplete'
  }
}

/** A replay that takes longer starts again. */
const replayLifeMs = 3_600_000
const lastUseLifeSeconds = 90 * 86_400

const [partitionDigits, offsetDigits] = [10, 19]

/** The position of a record in its topic. */
export const appendPositionOf = ({ partition, offset }: { partition: number; offset: bigint }): AppendPosition =>
  `${String(partition).padStart(partitionDigits, '0')}/${String(offset).padStart(offsetDigits, '0')}` as AppendPosition

/*
 * A field of `teamKeys` is `<position> <value>`: where the newest record was appended, if that is known, and its value, as
 * `accountKeyValue` writes it. A reserved slot is ` {"revision":0,"reservedUntilMs":…}`. Values are never encoded anew: Lua does not keep
 * all digits of a revision. A hash under `accountKey` has a field `<teamId>/<keyId>` with the holder for each live key that claims a digest.
 */

const decode = `
local function decode(field)
  local position, value = string.match(field or ' {"revision":0}', '^(%S*) (.*)$')
  local entry = cjson.decode(value)
  if entry.key == cjson.null then entry.key, entry.isDeleted = nil, true end
  return entry, position, value
end`

/**
 * A deletion beats all, then the higher revision. Of two records with one revision, which two writers made at once, the one that revokes the
 * key is the newer. `newest` is also answered of a deletion whose own record may never have been appended.
 */
const applyScript = script(`${decode}
local teamKeys, digests, contested = unpack(KEYS)
local team, id, position, value, holder, complete, runId = unpack(ARGV)
if complete and redis.call('GET', complete) ~= runId then return {'incomplete'} end
local old, oldPosition, oldValue = decode(redis.call('HGET', teamKeys, id))
local new = decode(' ' .. value)

local function isNewer()
  if old.isDeleted or new.isDeleted then return not old.isDeleted end
  if new.revision ~= old.revision then return new.revision > old.revision end
  return new.key.state == 'revoked' and old.key.state ~= 'revoked'
end
if not isNewer() then
  local isLater = position ~= '' and position > oldPosition
  if value == oldValue or old.isDeleted and new.isDeleted then
    if isLater then redis.call('HSET', teamKeys, id, position .. ' ' .. oldValue) end
    return {'stale'}
  end
  local isConflict = not old.isDeleted and new.revision == old.revision
  return {isConflict and 'conflict' or 'stale', isLater and (oldPosition ~= '' or old.isDeleted) and oldValue}
end

redis.call('HSET', teamKeys, id, position .. ' ' .. value)
local function claim(digest, its)
  if its then redis.call('HSET', digests .. digest, team .. '/' .. id, its)
  else redis.call('HDEL', digests .. digest, team .. '/' .. id) end
  redis.call(redis.call('HLEN', digests .. digest) > 1 and 'SADD' or 'SREM', contested, digest)
end
if old.key and not (new.key and new.key.digest == old.key.digest) then claim(old.key.digest) end
if new.key then claim(new.key.digest, holder) end
return {'applied'}`)

/** A reserved slot is below every record, and given up when its time is over. */
const reserveScript = script(`${decode}
local teamKeys = KEYS[1]
local id, now, untilMs, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
local complete, runId = ARGV[5], ARGV[6]
if redis.call('GET', complete) ~= runId then return 'incomplete' end
local held = redis.call('HGETALL', teamKeys)
local own, taken = {}, 0
for i = 1, #held, 2 do
  local slot = decode(held[i + 1])
  if held[i] == id then own = slot
  elseif slot.reservedUntilMs and slot.reservedUntilMs < now then redis.call('HDEL', teamKeys, held[i])
  elseif not slot.isDeleted then taken = taken + 1 end
end
if own.isDeleted then return 'deleted' end
local isFull = taken >= max
if own.key then return isFull and 'surplus' or 'held' end
if isFull then return 'full' end
redis.call('HSET', teamKeys, id, ' {"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`)

const completeScript = script(`
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

/**
 * Counts the request of a valid key in a window that its first request opens; with a window of 0 ms, it counts none. The request that opens
 * a window is also stored as the last use of its key.
 */
const lookupScript = script(`${freshnessLua}
local complete, holders = redis.call('GET', ARGV[1]), redis.call('HVALS', ARGV[2])
if #holders ~= 1 then return {complete, false} end
local holder, windowMs = cjson.decode(holders[1]), tonumber(ARGV[6])
local isExpired = holder.expiresAtMs ~= cjson.null and tonumber(ARGV[5]) >= holder.expiresAtMs
local requests, leftMs = 0, 0
if windowMs > 0 and holder.state == 'active' and not isExpired then
  local window, lastUse = ARGV[3] .. ':' .. holder.teamId .. '/' .. holder.keyId, ARGV[4] .. holder.teamId
  if redis.call('SET', window, 0, 'PX', windowMs, 'NX') then
    redis.call('HSET', lastUse, holder.keyId, ARGV[5])
    redis.call('EXPIRE', lastUse, ${lastUseLifeSeconds})
  end
  requests, leftMs = redis.call('INCRBY', window, 1), redis.call('PTTL', window)
end
return {complete, holders[1], requests, leftMs, unpack(freshnessOf(holder.teamId, 7))}`)

type ApplyReply = readonly [kind: Applied['kind'], newest?: string | null]
type LookupReply = readonly [
  complete: string | null,
  holder: string | null,
  requests: number,
  leftMs: number,
  ...FreshnessReply,
]

/**
 * The account keys in Redis, by which requests are authenticated. Kafka is their durable copy. Every write goes through a script that
 * compares revisions, so records may be applied twice, late, and by several writers.
 */
export class AccountKeyStore {
  readonly #redis: RedisConnection

  constructor(redis: RedisConnection) {
    this.#redis = redis
  }

  async isComplete(): Promise<boolean> {
    const { client, keys, runId } = this.#redis
    const completeOn = await client.get(keys.accountKeysComplete)
    return completeOn !== null && completeOn === runId()
  }

  /**
   * Looks a key up by its digest, counts a request of a key that is valid at `nowMs` in its window of `windowMs`, and reads the freshness of
   * its team's lists, if the store is complete. A digest that several live keys claim, revoked ones included, opens none of them.
   */
  async lookup(digest: Digest, nowMs = 0, windowMs = 0): Promise<Lookup> {
    const redis = this.#redis
    const { accountKeysComplete, accountKey, limitPrefix, lastUsePrefix } = redis.keys
    const freshness = freshnessValues(redis.keys, randomToken())
    const names = [accountKeysComplete, accountKey(digest), limitPrefix, lastUsePrefix]
    const values = [...names, nowMs, windowMs, ...freshness]
    const [complete, holder, requests, leftMs, ...read] = (await lookupScript(redis, [], values)) as LookupReply
    if (complete === null || complete !== redis.runId()) return 'incomplete'
    if (holder === null) return { found: null }
    const found = JSON.parse(holder) as KeyHolder
    return { found, freshness: freshnessIn(read, redis.runId()), window: { requests, leftMs } }
  }

  /** Applies a state; `when complete`: to a complete store only. `position`: where its record was appended, if there is one yet. */
  async apply(
    teamId: TeamId,
    keyId: EntityId,
    state: AccountKeyState,
    position?: AppendPosition,
    when: 'always' | 'when complete' = 'always',
  ): Promise<Applied> {
    const { keys, runId } = this.#redis
    const names = [keys.teamKeys(teamId), keys.accountKeyPrefix, keys.contestedDigests]
    const holder = state.key === null ? '' : JSON.stringify(holderOf(teamId, keyId, state.key))
    const required = when === 'always' ? [] : [keys.accountKeysComplete, runId() ?? '']
    const values = [teamId, keyId, position ?? '', accountKeyValue(state), holder, ...required]
    const [kind, newest] = (await applyScript(this.#redis, names, values)) as ApplyReply
    return { kind, newest: newest == null ? undefined : (JSON.parse(newest) as AccountKeyState) }
  }

  /** Takes one of the team's slots until `untilMs`; the key's record makes it a lasting one. An id keeps the slot that it has. */
  async reserve(teamId: TeamId, keyId: EntityId, nowMs: number, untilMs: number): Promise<Reserved> {
    const { keys, runId } = this.#redis
    const values = [keyId, nowMs, untilMs, maxKeysPerTeam, keys.accountKeysComplete, runId() ?? '']
    const reply = (await reserveScript(this.#redis, [keys.teamKeys(teamId)], values)) as Reserved | 'incomplete'
    if (reply === 'incomplete') throw new AccountKeysIncomplete()
    return reply
  }

  /** The team's live keys, without slots that are only reserved. */
  async list(teamId: TeamId): Promise<StoredKey[]> {
    const { client, keys } = await this.#complete()
    const fields = Object.values(await client.hgetall(keys.teamKeys(teamId)))
    return fields.flatMap((field) => {
      const { revision, key } = readField(field) ?? { key: null }
      return key === null || revision === undefined ? [] : [{ ...key, revision }]
    })
  }

  /** The newest state of a key; undefined for one that is unknown or only reserved. */
  async find(teamId: TeamId, keyId: EntityId): Promise<AccountKeyState | undefined> {
    const { client, keys } = await this.#complete()
    return readField((await client.hget(keys.teamKeys(teamId), keyId)) ?? '')
  }

  /** Digests that several live keys claim; at most `max`, of so many keys each. */
  async contested(max: number): Promise<ContestedDigest[]> {
    const { client, keys } = this.#redis
    const digests = ((await client.smembers(keys.contestedDigests)) as Digest[]).sort().slice(0, max)
    const claims = await Promise.all(digests.map((digest) => client.hkeys(keys.accountKey(digest))))
    return digests.map((digest, at) => ({ digest, keys: (claims[at] ?? []).sort().slice(0, max) }))
  }

  /** Starts a replay of all records under a token of its own. `complete` ends it; false when Redis lost keys meanwhile. */
  async beginReplay(token: string): Promise<{ complete(): Promise<boolean> }> {
    const { client, keys, runId } = this.#redis
    const startedOn = runId()
    const replay = keys.accountKeyReplay(token)
    await client.set(replay, '1', 'PX', replayLifeMs)
    const complete = async (): Promise<boolean> => {
      if (startedOn === undefined || runId() !== startedOn) return false
      return (await completeScript(this.#redis, [keys.accountKeysComplete, replay], [startedOn])) === 1
    }
    return { complete }
  }

  /** The connection to a Redis that has every key. */
  async #complete(): Promise<RedisConnection> {
    if (await this.isComplete()) return this.#redis
    throw new AccountKeysIncomplete()
  }
}

/** What a look-up by its digest finds of a live key. */
export const holderOf = (teamId: TeamId, keyId: EntityId, { state, expiresAt }: AccountKey): KeyHolder => ({
  teamId,
  keyId,
  state,
  expiresAtMs: expiresAt == null ? null : Date.parse(expiresAt),
})

/** The state in a field of `teamKeys`; undefined for a slot that is only reserved. */
export function readField(field: string): AccountKeyState | undefined {
  const value = field.slice(field.indexOf(' ') + 1)
  const state = value === '' ? undefined : (JSON.parse(value) as AccountKeyState)
  return state === undefined || state.revision === 0 ? undefined : state
}

/**
 * The holders of keys in the order of `digests`, in one round trip; null for a key without one, as a digest that several live keys claim.
 * Undefined while the store is not complete, which is read before and after the holders: meanwhile Redis may lose all of them, or a replay end.
 */
export async function readHolders(
  { client, keys, runId }: RedisConnection,
  digests: readonly Digest[],
): Promise<(KeyHolder | null)[] | undefined> {
  const before = client.get(keys.accountKeysComplete)
  const asked = digests.map((digest) => client.hvals(keys.accountKey(digest)))
  const [first, last, ...found] = await Promise.all([before, client.get(keys.accountKeysComplete), ...asked])
  if (first === null || first !== last || last !== runId()) return undefined
  return found.map(([holder, ...others]) =>
    holder === undefined || others.length > 0 ? null : (JSON.parse(holder) as KeyHolder),
  )
}
