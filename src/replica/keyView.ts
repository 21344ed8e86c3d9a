import type { Redis } from 'ioredis'
import { z } from 'zod'
import { type AccountKey, maxKeysPerTeam } from '../domain/accountKey.ts'
import { type Digest, deletedRevision, type EntityId, type Revision, type TeamId } from '../domain/identifiers.ts'
import type { RedisLink } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Whose key a digest is. `expiresAtMs` is null for a key without expiry. */
export type KeyHolder = { teamId: TeamId; keyId: EntityId; state: 'active' | 'revoked'; expiresAtMs: number | null }

/** A key as the view holds it: the record's newest state and its revision. */
export type StoredKey = AccountKey & { readonly revision: Revision }

export type Lookup = { readonly found: KeyHolder | null } | 'incomplete'
export type Applied = 'applied' | 'stale' | 'digest-held'
/** `held`: the id has a key already. */
export type Reserved = 'reserved' | 'full' | 'held' | 'deleted'

/** The view cannot tell: Redis has lost what it knew, and the indexer has not folded the account keys again. */
export class KeyViewIncomplete extends Error {
  constructor() {
    super('the key view is not complete')
    this.name = 'KeyViewIncomplete'
  }
}

/**
 * The account keys in Redis: the live view that requests are judged by. Kafka holds the same for good. Every write goes
 * through one of the scripts below, which compare revisions, so that records may come twice, late and from several writers.
 */
export type KeyView = {
  /** One look-up by digest, together with the proof that the view is whole. */
  lookup(digest: Digest): Promise<Lookup>
  /** Applies one change; null deletes for good. */
  apply(teamId: TeamId, keyId: EntityId, key: StoredKey | null): Promise<Applied>
  /**
   * Takes one of the team's slots until `untilMs`; applying the key's record makes it a lasting one, a deletion frees it. An id
   * that was reserved before keeps its slot.
   */
  reserve(teamId: TeamId, keyId: EntityId, nowMs: number, untilMs: number): Promise<Reserved>
  /** The team's keys, without slots that are only reserved. */
  list(teamId: TeamId): Promise<StoredKey[]>
  wasDeleted(teamId: TeamId, keyId: EntityId): Promise<boolean>
  isComplete(): Promise<boolean>
  /** Starts a fold of all records under a token of its own; `complete` says whether the view is whole now. */
  beginFold(token: string): Promise<{ complete(): Promise<boolean> }>
}

const applyScript = `
local id, revision, record, digest, holder = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5]
if redis.call('SISMEMBER', KEYS[2], id) == 1 then return 'stale' end
local text = redis.call('HGET', KEYS[1], id)
local old = text and cjson.decode(text)
if record == '' then
  if old and old.digest then redis.call('DEL', KEYS[3] .. old.digest) end
  redis.call('HDEL', KEYS[1], id)
  redis.call('SADD', KEYS[2], id)
  return 'applied'
end
if old and old.revision >= revision then return 'stale' end
local held = redis.call('GET', KEYS[3] .. digest)
if held then
  local other = cjson.decode(held)
  local mine = cjson.decode(holder)
  if other.keyId ~= mine.keyId or other.teamId ~= mine.teamId then return 'digest-held' end
end
if old and old.digest and old.digest ~= digest then redis.call('DEL', KEYS[3] .. old.digest) end
redis.call('HSET', KEYS[1], id, record)
redis.call('SET', KEYS[3] .. digest, holder)
return 'applied'`

/** A reserved slot is `{"revision": 0, "reservedUntilMs": …}`: below every record, and given up when its time is over. */
const reserveScript = `
local id, now, untilMs, max = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4])
if redis.call('SISMEMBER', KEYS[2], id) == 1 then return 'deleted' end
local held = redis.call('HGETALL', KEYS[1])
local taken = 0
for i = 1, #held, 2 do
  local slot = cjson.decode(held[i + 1])
  if held[i] == id then
    if slot.revision > 0 then return 'held' end
  elseif slot.revision == 0 and slot.reservedUntilMs < now then redis.call('HDEL', KEYS[1], held[i])
  else taken = taken + 1 end
end
if taken >= max then return 'full' end
redis.call('HSET', KEYS[1], id, '{"revision":0,"reservedUntilMs":' .. untilMs .. '}')
return 'reserved'`

const completeScript = `
if redis.call('DEL', KEYS[2]) == 0 then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`

/** A fold that takes longer starts again. */
const foldLifeMs = 3_600_000

const appliedAnswer = z.enum(['applied', 'stale', 'digest-held'])
const reservedAnswer = z.enum(['reserved', 'full', 'held', 'deleted'])

export function keyView({ client, runId }: RedisLink, keys: RedisKeys): KeyView {
  const isComplete = async (): Promise<boolean> => isCurrent(await client.get(keys.keyViewComplete), runId())
  const demandComplete = async (): Promise<void> => {
    if (!(await isComplete())) throw new KeyViewIncomplete()
  }
  return {
    isComplete,
    lookup: async (digest) => {
      const [complete, holder] = await client.mget(keys.keyViewComplete, keys.accountKey(digest))
      if (!isCurrent(complete ?? null, runId())) return 'incomplete'
      return { found: holder == null ? null : (JSON.parse(holder) as KeyHolder) }
    },
    apply: async (teamId, keyId, key) => {
      const redisNames = [keys.teamKeys(teamId), keys.deletedKeys(teamId), keys.accountKeyPrefix]
      return appliedAnswer.parse(await run(client, applyScript, redisNames, applyArguments(teamId, keyId, key)))
    },
    reserve: async (teamId, keyId, nowMs, untilMs) => {
      await demandComplete()
      const redisNames = [keys.teamKeys(teamId), keys.deletedKeys(teamId)]
      const answer = await run(client, reserveScript, redisNames, [keyId, nowMs, untilMs, maxKeysPerTeam])
      return reservedAnswer.parse(answer)
    },
    list: async (teamId) => {
      await demandComplete()
      const slots = Object.values(await client.hgetall(keys.teamKeys(teamId)))
      return slots.map((text) => JSON.parse(text) as StoredKey).filter((key) => key.revision > 0)
    },
    wasDeleted: async (teamId, keyId) => (await client.sismember(keys.deletedKeys(teamId), keyId)) === 1,
    beginFold: async (token) => {
      const startedOn = runId()
      await client.set(keys.keyViewFold(token), '1', 'PX', foldLifeMs)
      return {
        complete: async () => {
          if (startedOn === undefined || runId() !== startedOn) return false
          const answer = await run(client, completeScript, [keys.keyViewComplete, keys.keyViewFold(token)], [startedOn])
          return answer === 1
        },
      }
    },
  }
}

const isCurrent = (completeOn: string | null, runId: string | undefined): boolean =>
  completeOn !== null && completeOn === runId

function applyArguments(teamId: TeamId, keyId: EntityId, key: StoredKey | null): (string | number)[] {
  if (key === null) return [keyId, deletedRevision, '', '', '']
  const expiresAtMs = key.expiresAt == null ? null : Date.parse(key.expiresAt)
  const holder: KeyHolder = { teamId, keyId, state: key.state, expiresAtMs }
  return [keyId, key.revision, JSON.stringify(key), key.digest, JSON.stringify(holder)]
}

const run = (client: Redis, script: string, names: string[], values: (string | number)[]): Promise<unknown> =>
  client.eval(script, names.length, ...names, ...values)
