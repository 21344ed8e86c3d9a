import type { AppendPosition } from '../kafka/sourceRecord.ts'
import { type AccountKey, type AccountKeyState, accountKeyValue, maxKeysPerTeam } from '../model/accountKey.ts'
import {
  type Digest,
  type DocumentId,
  documentId,
  type EntityId,
  entityIdOf,
  type TeamId,
  teamIdOf,
} from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import type { KeyHolder } from './keyLookups.ts'
import { type RedisConnection, script } from './redis.ts'
import { scanHashes } from './scanHashes.ts'

/**
 * The outcome of applying a state. `stale`: the same or a newer state is stored; `conflict`: another state of the same revision is.
 * `newest`: the stored state, if this record was appended after that state's record, which compaction would then delete.
 */
export type Applied = {
  readonly kind: 'applied' | 'incomplete' | 'stale' | 'conflict'
  readonly newest: AccountKeyState | undefined
}

/** `held`: a key has this id already; `surplus`: so, but the other keys of the team take all slots. */
type Reserved = 'reserved' | 'full' | 'held' | 'surplus' | 'deleted'

/** A digest shared by several live keys (`<teamId>/<keyId>`). */
export type ContestedDigest = { readonly digest: Digest; readonly keys: readonly string[] }

/** Redis has lost account keys, and the indexer has not replayed them yet. */
export class AccountKeysIncomplete extends Error {
  constructor() {
    super('the account-key store is not complete until an indexer has replayed the keys; is one running?')
    this.name = 'AccountKeysIncomplete'
  }
}

/** A replay that takes longer does not count, and starts again. */
const replayLifeMs = 3_600_000

/*
 * A field of `teamKeys` is `<position> <value>` of the key's newest record: position empty if unknown, or `-<epoch ms>` of a change whose
 * record no indexer has read yet; value by `accountKeyValue`. A reserved slot is ` {"revision":0,"reservedUntilMs":…}`. Scripts never
 * re-encode values, because Lua loses digits of revisions. A deletion whose record was read moves to `deletedKeys`, which grows without
 * end, so that no script reads all of it. The hash `accountKey` of a digest has a field `<teamId>/<keyId>` → holder for each
 * live key with that digest, and `<teamId>/<keyId> in another partition` for one of which two partitions hold a live record: the deletion of
 * one would leave the other, so such a key opens nothing.
 */

const decode = `
local function decode(field)
  local position, value = string.match(field or ' {"revision":0}', '^([%d/]*)%S* (.*)$')
  local entry = cjson.decode(value)
  if entry.key == cjson.null then entry.key, entry.isDeleted = nil, true end
  return entry, position, value
end`

/** Lua `claim(digests, contested, digest, name, holder, isSplit)`: a key claims its digest, or without a holder claims it no more. */
const claim = `
local function claim(digests, contested, digest, name, holder, isSplit)
  local claims = digests .. digest
  if holder then redis.call('HSET', claims, name, holder) else redis.call('HDEL', claims, name, name .. ' in another partition') end
  if holder and isSplit then redis.call('HSET', claims, name .. ' in another partition', holder) end
  redis.call(redis.call('HLEN', claims) > 1 and 'SADD' or 'SREM', contested, digest)
end`

/**
 * A deletion wins, then the higher revision. Of two states with one revision, from concurrent writers, the revoked one wins. `newest` is
 * also returned of a deletion without a position, whose record may never have been appended.
 */
const applyScript = script(`${decode}${claim}
local teamKeys, deletedKeys, digests, contested = unpack(KEYS)
local team, id, position, value, holder, complete, runId = unpack(ARGV)
if complete and redis.call('GET', complete) ~= runId then return {'incomplete'} end
local old, oldPosition, oldValue = decode(redis.call('HGET', teamKeys, id) or redis.call('HGET', deletedKeys, id))
local new, place = decode(position .. ' ' .. value)
local name = team .. '/' .. id
local function store(value)
  local isForGood = new.isDeleted and place ~= ''
  if isForGood then redis.call('HDEL', teamKeys, id) end
  redis.call('HSET', isForGood and deletedKeys or teamKeys, id, position .. ' ' .. value)
end

local function isNewer()
  if old.isDeleted or new.isDeleted then return not old.isDeleted end
  if new.revision ~= old.revision then return new.revision > old.revision end
  return new.key.state == 'revoked' and old.key.state ~= 'revoked'
end
local function isSplit()
  if not old.key or not new.key then return false end
  local known, found = string.match(oldPosition, '^%d+'), string.match(place, '^%d+')
  if known and found and known ~= found then return true end
  return redis.call('HGET', digests .. old.key.digest, name .. ' in another partition') ~= false
end
local split = isSplit()
if not isNewer() then
  if split then claim(digests, contested, old.key.digest, name, redis.call('HGET', digests .. old.key.digest, name), true) end
  local isLater = place > oldPosition
  if value == oldValue or old.isDeleted and new.isDeleted then
    if isLater then store(oldValue) end
    return {'stale'}
  end
  local isConflict = not old.isDeleted and new.revision == old.revision
  return {isConflict and 'conflict' or 'stale', isLater and (oldPosition ~= '' or old.isDeleted) and oldValue}
end

store(value)
if old.key and not (new.key and new.key.digest == old.key.digest) then claim(digests, contested, old.key.digest, name) end
if new.key then claim(digests, contested, new.key.digest, name, holder, split) end
return {'applied'}`)

/** Does nothing if another record of the key has been read since. */
const forgetScript = script(`${decode}${claim}
local teamKeys, digests, contested = unpack(KEYS)
local name, id, expected = unpack(ARGV)
local entry, position = decode(redis.call('HGET', teamKeys, id))
if position ~= expected then return 0 end
redis.call('HDEL', teamKeys, id)
if entry.key then claim(digests, contested, entry.key.digest, name) end
return 1`)

/** Any record of the key replaces a reserved slot; an expired one is deleted. */
const reserveScript = script(`${decode}
local teamKeys, deletedKeys = unpack(KEYS)
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
if own.isDeleted or redis.call('HGET', deletedKeys, id) then return 'deleted' end
local isFull = taken >= max
if own.key then return isFull and 'surplus' or 'held' end
if isFull then return 'full' end
redis.call('HSET', teamKeys, id, ' {"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`)

const completeScript = script(`
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

type ApplyReply = readonly [kind: Applied['kind'], newest?: string | null]

/**
 * The account keys in Redis, which authenticate requests; Kafka is their durable copy. Scripts compare revisions, so records may be
 * applied twice, late, and by several writers.
 */
export class AccountKeyStore {
  readonly #redis: RedisConnection

  constructor(redis: RedisConnection) {
    this.#redis = redis
  }

  /** The run of Redis that holds every account key; undefined while keys are missing. */
  async completeRun(): Promise<string | undefined> {
    const { client, keys, runId } = this.#redis
    const completeOn = await client.get(keys.accountKeysComplete)
    return completeOn !== null && completeOn === runId() ? completeOn : undefined
  }

  async isComplete(): Promise<boolean> {
    return (await this.completeRun()) !== undefined
  }

  /** Applies a state; `when complete`: to a complete store only. `position`: of the state's record, or since when (`-<epoch ms>`) one is to follow. */
  async apply(
    teamId: TeamId,
    keyId: EntityId,
    state: AccountKeyState,
    position?: AppendPosition | `-${number}`,
    when: 'always' | 'when complete' = 'always',
  ): Promise<Applied> {
    const { keys, runId } = this.#redis
    const names = [keys.teamKeys(teamId), keys.deletedKeys(teamId), keys.accountKey(''), keys.contestedDigests]
    const holder = state.key === null ? '' : JSON.stringify(holderOf(teamId, keyId, state.key))
    const required = when === 'always' ? [] : [keys.accountKeysComplete, runId() ?? '']
    const values = [teamId, keyId, position ?? '', accountKeyValue(state), holder, ...required]
    const [kind, newest] = (await applyScript(this.#redis, names, values)) as ApplyReply
    return { kind, newest: newest == null ? undefined : (JSON.parse(newest) as AccountKeyState) }
  }

  /** Reserves a slot of the team until `untilMs` (epoch ms), for a key whose record follows. Throws `AccountKeysIncomplete`. */
  async reserve(teamId: TeamId, keyId: EntityId, nowMs: number, untilMs: number): Promise<Reserved> {
    const { keys, runId } = this.#redis
    const values = [keyId, nowMs, untilMs, maxKeysPerTeam, keys.accountKeysComplete, runId() ?? '']
    const names = [keys.teamKeys(teamId), keys.deletedKeys(teamId)]
    const reply = (await reserveScript(this.#redis, names, values)) as Reserved | 'incomplete'
    if (reply === 'incomplete') throw new AccountKeysIncomplete()
    return reply
  }

  /** The team's live keys. Throws `AccountKeysIncomplete`, as `find` does. */
  async list(teamId: TeamId): Promise<AccountKey[]> {
    const fields = await this.#fields(teamId)
    return Object.values(fields).flatMap((field) => readField(field)?.key ?? [])
  }

  /** The changed keys, null once deleted, whose record no indexer has read and which have waited for that since before `beforeMs`. */
  async unread(teamId: TeamId, beforeMs: number): Promise<[EntityId, AccountKey | null][]> {
    const fields = await this.#fields(teamId)
    const waiting = Object.entries(fields).filter(([, field]) => Number(/^-(\S+) /.exec(field)?.[1]) < beforeMs)
    return waiting.map(([id, field]) => [id as EntityId, readField(field)?.key ?? null])
  }

  /** The newest state of a key; undefined if the key is unknown or its slot only reserved. */
  async find(teamId: TeamId, keyId: EntityId): Promise<AccountKeyState | undefined> {
    // A deletion moves from the first to the second.
    const [field, deleted] = await this.#readWhole(({ client, keys }) =>
      Promise.all([keys.teamKeys(teamId), keys.deletedKeys(teamId)].map((name) => client.hget(name, keyId))),
    )
    return readField(field ?? deleted ?? '')
  }

  /** When each used key of a team was used last, at most a minute too early. For display only, because Redis may lose it. */
  async lastUse(teamId: TeamId): Promise<ReadonlyMap<EntityId, Instant>> {
    const { client, keys } = this.#redis
    const uses = Object.entries(await client.hgetall(keys.lastUse(teamId)))
    return new Map(uses.map(([keyId, epochMs]) => [keyId as EntityId, toInstant(Number(epochMs))]))
  }

  /** Digests shared by several live keys: at most `max` digests, with at most `max` keys each. */
  async contested(max: number): Promise<ContestedDigest[]> {
    const { client, keys } = this.#redis
    const digests = ((await client.smembers(keys.contestedDigests)) as Digest[]).sort().slice(0, max)
    const claims = await Promise.all(digests.map((digest) => client.hkeys(keys.accountKey(digest))))
    return digests.map((digest, at) => ({ digest, keys: (claims[at] ?? []).sort().slice(0, max) }))
  }

  /** Where the record of each live key is that an indexer has read. Reads the whole store in pages. */
  async readPositions(): Promise<Map<DocumentId, AppendPosition>> {
    const positions = new Map<DocumentId, AppendPosition>()
    for await (const [teamId, fields] of scanHashes(this.#redis, this.#redis.keys.teamKeys('')))
      for (const [keyId, field] of Object.entries(fields)) {
        const [position] = /^\d+\/\d+(?= )/.exec(field) ?? []
        if (position !== undefined)
          positions.set(documentId(teamId as TeamId, keyId as EntityId), position as AppendPosition)
      }
    return positions
  }

  /** Forgets a live key whose record at `position` is in the topic no more; nothing if it has another one. */
  async forget(id: DocumentId, position: AppendPosition): Promise<boolean> {
    const { keys } = this.#redis
    const names = [keys.teamKeys(teamIdOf(id)), keys.accountKey(''), keys.contestedDigests]
    return (await forgetScript(this.#redis, names, [id, entityIdOf(id), position])) === 1
  }

  /** Starts a replay of all records; `token` is unique to it. `complete` ends it; false when Redis lost keys meanwhile. */
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

  #fields = (teamId: TeamId): Promise<Record<string, string>> =>
    this.#readWhole(({ client, keys }) => client.hgetall(keys.teamKeys(teamId)))

  /** Throws `AccountKeysIncomplete` unless the store is complete before and after: in between, Redis may lose all keys. One round trip. */
  async #readWhole<T>(read: (redis: RedisConnection) => Promise<T>): Promise<T> {
    const [before, found, after] = await Promise.all([this.isComplete(), read(this.#redis), this.isComplete()])
    if (before && after) return found
    throw new AccountKeysIncomplete()
  }
}

/** The holder that a look-up of a live key returns. */
export const holderOf = (teamId: TeamId, keyId: EntityId, { state, expiresAt }: AccountKey): KeyHolder => ({
  teamId,
  keyId,
  state,
  expiresAtMs: expiresAt == null ? null : Date.parse(expiresAt),
})

/** Parses a field of `teamKeys`; undefined for a reserved slot. */
export function readField(field: string): AccountKeyState | undefined {
  const value = field.slice(field.indexOf(' ') + 1)
  const state = value === '' ? undefined : (JSON.parse(value) as AccountKeyState)
  return state === undefined || state.revision === 0 ? undefined : state
}
