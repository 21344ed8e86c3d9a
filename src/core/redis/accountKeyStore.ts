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
import { applyScript, completeScript, forgetScript, reserveScript } from './accountKeyScripts.ts'
import type { FoundKey } from './keyLookups.ts'
import type { RedisConnection } from './redis.ts'
import { scanHashes } from './scanHashes.ts'

/**
 * `incomplete`: Redis may lack keys, so nothing was applied. `stale`: the same or a newer state is stored. `conflict`: another state of the same revision is
 * stored. `newest`: the stored state, if the caller must append its record again: compaction would otherwise leave that of a lower revision, or the record of a
 * stored deletion was perhaps never appended.
 */
export type ApplyResult = {
  readonly kind: 'applied' | 'incomplete' | 'stale' | 'conflict'
  readonly newest: AccountKeyState | undefined
}

/** `full`: other keys fill all slots. `held`: the key exists. `surplus`: the key exists, as an eleventh one. */
type Reservation = 'reserved' | 'full' | 'held' | 'surplus' | 'deleted'

/** `keys`: the fields of its hash `accountKey`. */
export type ContestedDigest = { readonly digest: Digest; readonly keys: readonly string[] }

/** Redis is new or has lost data, and no indexer has replayed the account keys since. */
export class AccountKeysIncomplete extends Error {
  constructor() {
    super('the account-key store is not complete until an indexer has replayed the keys; is one running?')
    this.name = 'AccountKeysIncomplete'
  }
}

const replayLifeMs = 3_600_000

type ApplyReply = readonly [kind: ApplyResult['kind'], newest?: string | null]

/**
 * The account keys in Redis, which authenticate requests; Kafka has the durable copy. Records may be applied twice, late, and by several writers at once. The
 * store is complete once a replay has copied every key into this run of Redis.
 */
export class AccountKeyStore {
  readonly #redis: RedisConnection

  constructor(redis: RedisConnection) {
    this.#redis = redis
  }

  /** Undefined while the store is not complete. */
  async runIfComplete(): Promise<string | undefined> {
    const { client, keys, runId } = this.#redis
    const completeRunId = await client.get(keys.accountKeysComplete)
    return completeRunId !== null && completeRunId === runId() ? completeRunId : undefined
  }

  async isComplete(): Promise<boolean> {
    return (await this.runIfComplete()) !== undefined
  }

  /**
   * Stores a state of a key unless a newer one is stored. `position`: of its record; `-<epoch ms>` of now if the record is still to be appended; left out if
   * unknown. `when complete`: stores nothing while the store is not complete.
   */
  async apply(
    teamId: TeamId,
    keyId: EntityId,
    state: AccountKeyState,
    position?: AppendPosition | `-${number}`,
    when: 'always' | 'when complete' = 'always',
  ): Promise<ApplyResult> {
    const { keys, runId } = this.#redis
    const names = [keys.teamKeys(teamId), keys.deletedKeys(teamId), keys.accountKey(''), keys.contestedDigests]
    const foundKey = state.key === null ? '' : JSON.stringify(foundKeyOf(teamId, keyId, state.key))
    const requiredRun = when === 'always' ? [] : [keys.accountKeysComplete, runId() ?? '']
    const values = [teamId, keyId, position ?? '', accountKeyValue(state), foundKey, ...requiredRun]
    const [kind, newest] = (await applyScript(this.#redis, names, values)) as ApplyReply
    return { kind, newest: newest == null ? undefined : (JSON.parse(newest) as AccountKeyState) }
  }

  /** Reserves a slot until `untilMs` (epoch ms) for a key whose record follows. Rejects with `AccountKeysIncomplete`. */
  async reserve(teamId: TeamId, keyId: EntityId, nowMs: number, untilMs: number): Promise<Reservation> {
    const { keys, runId } = this.#redis
    const values = [keyId, nowMs, untilMs, maxKeysPerTeam, keys.accountKeysComplete, runId() ?? '']
    const names = [keys.teamKeys(teamId), keys.deletedKeys(teamId)]
    const reply = (await reserveScript(this.#redis, names, values)) as Reservation | 'incomplete'
    if (reply === 'incomplete') throw new AccountKeysIncomplete()
    return reply
  }

  /** Active, revoked or expired. */
  async list(teamId: TeamId): Promise<AccountKey[]> {
    const fields = await this.#readTeamKeys(teamId)
    return Object.values(fields).flatMap((field) => readField(field)?.key ?? [])
  }

  /** Keys (null if deleted) that changed before `beforeMs` (epoch ms), and whose record no indexer has read yet. */
  async unreadChanges(teamId: TeamId, beforeMs: number): Promise<[EntityId, AccountKey | null][]> {
    const fields = await this.#readTeamKeys(teamId)
    const unreadFields = Object.entries(fields).filter(([, field]) => {
      // Of other fields NaN, which is not below any time.
      const changedAtMs = Number(/^-(\S+) /.exec(field)?.[1])
      return changedAtMs < beforeMs
    })
    return unreadFields.map(([id, field]) => [id as EntityId, readField(field)?.key ?? null])
  }

  /** Undefined if the key is unknown or only has a reserved slot. */
  async find(teamId: TeamId, keyId: EntityId): Promise<AccountKeyState | undefined> {
    // In this order: a key that is deleted meanwhile moves from `teamKeys` to `deletedKeys`, and is found there.
    const [field, deleted] = await this.#readComplete(({ client, keys }) =>
      Promise.all([keys.teamKeys(teamId), keys.deletedKeys(teamId)].map((name) => client.hget(name, keyId))),
    )
    return readField(field ?? deleted ?? '')
  }

  /** Up to a minute too early; Redis may lose times. */
  async lastUse(teamId: TeamId): Promise<ReadonlyMap<EntityId, Instant>> {
    const { client, keys } = this.#redis
    const uses = Object.entries(await client.hgetall(keys.lastUse(teamId)))
    return new Map(uses.map(([keyId, epochMs]) => [keyId as EntityId, toInstant(Number(epochMs))]))
  }

  /** At most `max`, with at most `max` keys of each. */
  async contestedDigests(max: number): Promise<ContestedDigest[]> {
    const { client, keys } = this.#redis
    const digests = ((await client.smembers(keys.contestedDigests)) as Digest[]).sort().slice(0, max)
    const claims = await Promise.all(digests.map((digest) => client.hkeys(keys.accountKey(digest))))
    return digests.map((digest, at) => ({ digest, keys: (claims[at] ?? []).sort().slice(0, max) }))
  }

  /** Positions of all live keys whose record an indexer has read. */
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

  /** Removes a live key whose record at `position` is no longer in the topic; false if the key has another position by now. */
  async forget(id: DocumentId, position: AppendPosition): Promise<boolean> {
    const { keys } = this.#redis
    const names = [keys.teamKeys(teamIdOf(id)), keys.accountKey(''), keys.contestedDigests]
    return (await forgetScript(this.#redis, names, [id, entityIdOf(id), position])) === 1
  }

  /**
   * Call this with a unique `token` before a replay reads the first key, and `complete` of the result after the last. False: Redis may have lost keys, or it
   * took more than an hour, so the replay must be repeated.
   */
  async beginReplay(token: string): Promise<{ complete(): Promise<boolean> }> {
    const { client, keys, runId } = this.#redis
    const startedInRun = runId()
    const replay = keys.accountKeyReplay(token)
    await client.set(replay, '1', 'PX', replayLifeMs)
    const complete = async (): Promise<boolean> => {
      if (startedInRun === undefined || runId() !== startedInRun) return false
      return (await completeScript(this.#redis, [keys.accountKeysComplete, replay], [startedInRun])) === 1
    }
    return { complete }
  }

  #readTeamKeys = (teamId: TeamId): Promise<Record<string, string>> =>
    this.#readComplete(({ client, keys }) => client.hgetall(keys.teamKeys(teamId)))

  /** Checks before and after the read: Redis may lose all keys in between. */
  async #readComplete<T>(read: (redis: RedisConnection) => Promise<T>): Promise<T> {
    const [before, result, after] = await Promise.all([this.isComplete(), read(this.#redis), this.isComplete()])
    if (before && after) return result
    throw new AccountKeysIncomplete()
  }
}

/** What look-ups by digest need. */
export const foundKeyOf = (teamId: TeamId, keyId: EntityId, { state, expiresAt }: AccountKey): FoundKey => ({
  teamId,
  keyId,
  state,
  expiresAtMs: expiresAt == null ? null : Date.parse(expiresAt),
})

/** Undefined for a reserved slot and an empty text. */
export function readField(field: string): AccountKeyState | undefined {
  const value = field.slice(field.indexOf(' ') + 1)
  const state = value === '' ? undefined : (JSON.parse(value) as AccountKeyState)
  return state === undefined || state.revision === 0 ? undefined : state
}
