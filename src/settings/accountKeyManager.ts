import { hkdfSync, randomBytes } from 'node:crypto'
import type { Logger } from 'pino'
import type { Config } from '../core/config/config.ts'
import type { KafkaSink, NewRecord } from '../core/kafka/sink.ts'
import {
  type AccountKey,
  type AccountKeyState,
  accountKeySchema,
  accountKeyValue,
  deletedAfter,
  digestOf,
  maxKeysPerTeam,
  plaintextFrom,
  recordValueOf,
  revisionAfter,
  startOf,
} from '../core/model/accountKey.ts'
import {
  documentId,
  type EntityId,
  identifierRule,
  isIdentifier,
  type Revision,
  type TeamId,
} from '../core/model/ids.ts'
import { type Instant, instantRule, parseInstant, toInstant } from '../core/model/instant.ts'
import type { AccountKeyStore } from '../core/redis/accountKeyStore.ts'
import { type KeyChange, keyChange } from './keyAudit.ts'
import type { KeepChange } from './recentChanges.ts'

/** `deleted`: during its creation or revocation, or before its creation was repeated. */
type KeyRefusal = 'team' | 'name' | 'expires' | 'full' | 'unknown-key' | 'deleted'

export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
  readonly reason: KeyRefusal

  constructor(reason: KeyRefusal, message: string) {
    super(message)
    this.reason = reason
  }
}

/**
 * A change is not, or may not be, in both Redis and Kafka. Repeating the request completes it; only a creation that was undone is refused
 * (`deleted`).
 */
export class KeyChangeIncomplete extends Error {
  override readonly name = 'KeyChangeIncomplete'
}

/** `seed`: 32 secret bytes from which the key is derived; without it, every request creates another key. */
type CreateKeyRequest = {
  readonly team: string
  readonly name: string
  readonly by: string
  readonly expires?: string | undefined
  readonly seed?: Uint8Array | undefined
}

/** `isNew`: not created by an earlier request with the same seed. */
export type CreatedKey = { readonly plaintext: string; readonly key: AccountKey; readonly isNew: boolean }

export type UsedKey = AccountKey & { readonly lastUsedAt: Instant | null }

type ChangeKeyRequest = { readonly team: string; readonly id: string; readonly by: string }

const idBytes = 12
const plaintextBytes = 32
const seedBytes = 32
/** Longer than KafkaJS may take to append a new key's record: until then, no other key may get its slot. */
const reservationMs = 600_000
const maxConflicts = 5

type AccountKeyManagerDeps = {
  readonly store: AccountKeyStore
  readonly sink: Pick<KafkaSink, 'append'>
  readonly topics: Pick<Config, 'TOPIC_ACCOUNT_KEYS' | 'TOPIC_KEY_AUDIT'>
  readonly keepChange: KeepChange
  readonly log: Logger
  readonly nowMs: () => number
}

/**
 * Redis serves the keys, Kafka makes them durable. A change is complete once it is in both, with its audit record. A creation is appended to Kafka
 * first, so that no key works that could be lost. A revocation or deletion is written to Redis first, so that the key stops working at once.
 */
export class AccountKeyManager {
  readonly #deps: AccountKeyManagerDeps

  constructor(deps: AccountKeyManagerDeps) {
    this.#deps = deps
  }

  /** With the same `seed`, returns the same key. The plaintext is stored nowhere. */
  async create(request: CreateKeyRequest): Promise<CreatedKey> {
    const { nowMs } = this.#deps
    const team = readTeam(request.team)
    const { key, plaintext } = newKey(request, request.seed ?? randomBytes(seedBytes), nowMs())
    if ((await this.#reserve(team, key)) !== 'reserved')
      return { plaintext, key: (await this.#find(team, key.id)).key, isNew: false }
    const change = keyChange('created', team, request.by, key, nowMs())
    await this.#add(team, key, change)
    await this.#report(change)
    return { plaintext, key, isNew: true }
  }

  /** Oldest first. */
  async list(team: string): Promise<UsedKey[]> {
    const { store } = this.#deps
    const teamId = readTeam(team)
    const [keys, lastUse] = await Promise.all([store.list(teamId), store.lastUse(teamId)])
    const used = keys.map((key) => ({ ...key, lastUsedAt: lastUse.get(key.id as EntityId) ?? null }))
    return used.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  }

  /** The key still uses its slot. */
  async revoke({ team, id, by }: ChangeKeyRequest): Promise<void> {
    const { store, nowMs } = this.#deps
    const teamId = readTeam(team)
    for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
      const { revision, key } = await this.#find(teamId, id)
      const isRevoked = key.state === 'revoked'
      const revocation = { state: 'revoked', revokedAt: toInstant(nowMs()), revokedBy: by.toWellFormed() } as const
      const revoked = isRevoked ? key : { ...key, ...revocation }
      const state = { revision: isRevoked ? revision : revisionAfter(revision), key: revoked }
      if (!isRevoked) {
        const { kind } = await store.apply(teamId, id as EntityId, state, `-${nowMs()}`)
        if (kind !== 'applied') continue
      }
      return await this.#complete(state, keyChange('revoked', teamId, by, revoked, nowMs()))
    }
    throw new KeyChangeIncomplete(`key ${id} changes too often; try again`)
  }

  /** A repeated call completes a deletion that failed in Kafka. */
  async delete({ team, id, by }: ChangeKeyRequest): Promise<void> {
    const { store, nowMs } = this.#deps
    const teamId = readTeam(team)
    const keyId = id as EntityId
    const stored = isIdentifier(id) ? await store.find(teamId, keyId) : undefined
    if (stored === undefined) throw unknownKey(teamId, id)
    const deleted = stored.key === null ? stored : deletedAfter(stored.revision)
    if (stored.key !== null) await store.apply(teamId, keyId, deleted, `-${nowMs()}`)
    await this.#complete(deleted, keyChange('deleted', teamId, by, stored.key ?? { id }, nowMs()))
  }

  async #find(team: TeamId, id: string): Promise<{ readonly revision: Revision; readonly key: AccountKey }> {
    const stored = await this.#deps.store.find(team, id as EntityId)
    if (stored?.key == null) throw unknownKey(team, id)
    return { revision: stored.revision, key: stored.key }
  }

  /** `held`: the key exists. `surplus`: it exists, but other keys fill all slots. Throws `KeyRefused` if no slot is free, or the key was deleted. */
  async #reserve(team: TeamId, { id }: AccountKey): Promise<'reserved' | 'held' | 'surplus'> {
    const { store, nowMs } = this.#deps
    const reserved = await store.reserve(team, id as EntityId, nowMs(), nowMs() + reservationMs)
    if (reserved === 'full') throw allTaken(team)
    if (reserved === 'deleted') throw deletedMeanwhile(id)
    return reserved
  }

  /** To Kafka, then to Redis. If the first fails, undoes it. */
  async #add(team: TeamId, key: AccountKey, change: KeyChange): Promise<void> {
    const { store, nowMs } = this.#deps
    const id = key.id as EntityId
    const created = { revision: 1 as Revision, key }
    try {
      await this.#record(created, change)
      // Redis may have lost the slot, so it is reserved again:
      //
      // 1. Request A reserves the tenth slot. Redis loses its data, and is filled from Kafka, without A's key.
      // 2. Request B reserves the tenth slot. A and B append their records: eleven keys.
      // 3. The later of their second reservations finds the other key: at least one request is refused, perhaps both.
      if ((await this.#reserve(team, key)) === 'surplus') throw allTaken(team)
    } catch (error) {
      if (error instanceof KeyRefused && error.reason === 'deleted') throw error
      const reason = `its record was not completed (${(error as Error).message})`
      const stored = error instanceof KeyRefused ? undefined : await store.find(team, id).catch(() => undefined)
      // An indexer has read the record, or another process has created the key from the same form.
      if (stored?.key != null) throw new KeyChangeIncomplete(`key ${id} exists, but ${reason}`)
      const deleted = deletedAfter(created.revision)
      // Releasing the slot is not enough: Kafka may have written the record, which would become an eleventh key.
      await store.apply(team, id, deleted, `-${nowMs()}`).catch((failure: Error) => {
        throw new KeyChangeIncomplete(
          `${reason}, and its slot could not be given back (${failure.message}): delete ${id} once it is listed`,
        )
      })
      // If this append fails, too, `unreadChanges` repeats it.
      await this.#append(team, id, deleted).catch(() => undefined)
      throw error instanceof KeyRefused ? error : new KeyChangeIncomplete(`no key was created: ${reason}`)
    }
    const { kind } = await store.apply(team, id, created).catch((error: Error) => {
      throw new KeyChangeIncomplete(
        `key ${id} is recorded, but Redis does not have it (${error.message}): delete it once it is listed`,
      )
    })
    if (kind !== 'applied' && (await store.find(team, id))?.key === null) throw deletedMeanwhile(id)
  }

  /** Afterwards writes the change to Redis again: Redis may have lost it, and been filled from older records. */
  async #complete(state: AccountKeyState, change: KeyChange): Promise<void> {
    const { id } = change.key
    try {
      await this.#record(state, change)
      await this.#deps.store.apply(change.team, id as EntityId, state)
    } catch (error) {
      if (error instanceof KeyRefused) throw error
      throw new KeyChangeIncomplete(
        `key ${id} no longer works, but that is not durable yet (${(error as Error).message}): try again`,
      )
    }
    await this.#report(change)
  }

  /**
   * Compaction keeps only a key's last record, which must be the newest revision:
   *
   * 1. Request A makes revision 2.
   * 2. Request B makes revision 3, and appends it.
   * 3. A appends revision 2, then finds revision 3 in Redis, and appends it again.
   */
  async #record(state: AccountKeyState, change: KeyChange): Promise<void> {
    const { store, topics } = this.#deps
    const { team } = change
    const id = change.key.id as EntityId
    const audit = { topic: topics.TOPIC_KEY_AUDIT, key: documentId(team, id), value: JSON.stringify(change) }
    await this.#append(team, id, state, audit)
    let appended = state
    for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
      const newest = await store.find(team, id)
      if (newest === undefined || newest.revision < appended.revision) break
      if (accountKeyValue(newest) === accountKeyValue(appended)) break
      await this.#append(team, id, newest)
      appended = newest
    }
    if (appended.key === null && state.key !== null) throw deletedMeanwhile(id)
  }

  async #append(team: TeamId, id: EntityId, state: AccountKeyState, ...audit: NewRecord[]): Promise<void> {
    const record = {
      topic: this.#deps.topics.TOPIC_ACCOUNT_KEYS,
      key: documentId(team, id),
      value: recordValueOf(state),
    }
    await this.#deps.sink.append([...audit, record])
  }

  async #report(completed: KeyChange): Promise<void> {
    const { change, team, by, key } = completed
    this.#deps.log.info({ change, teamId: team, keyId: key.id, by }, 'account key changed')
    await this.#deps.keepChange(completed)
  }
}

function newKey({ name, by, expires }: CreateKeyRequest, seed: Uint8Array, nowMs: number): Omit<CreatedKey, 'isNew'> {
  // Id and plaintext cannot be computed from each other.
  const derive = (use: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', seed, '', use, bytes))
  const expiresAt = expires === undefined ? null : parseInstant(expires)
  if (expiresAt === undefined) throw new KeyRefused('expires', `expires must be ${instantRule}`)
  if (expiresAt !== null && Date.parse(expiresAt) <= nowMs)
    throw new KeyRefused('expires', 'expires must lie in the future')
  const plaintext = plaintextFrom(derive('account key', plaintextBytes))
  const key: AccountKey = {
    id: `key_${derive('account key id', idBytes).toString('base64url')}`,
    name: name.toWellFormed(),
    digest: digestOf(plaintext),
    start: startOf(plaintext),
    state: 'active',
    createdAt: toInstant(nowMs),
    createdBy: by.toWellFormed(),
    expiresAt,
  }
  if (!accountKeySchema.shape.name.safeParse(key.name).success)
    throw new KeyRefused('name', 'name must be 1 to 100 characters')
  return { key, plaintext }
}

function readTeam(team: string): TeamId {
  if (!isIdentifier(team)) throw new KeyRefused('team', `team must be ${identifierRule}`)
  return team as TeamId
}

const unknownKey = (team: TeamId, id: string): KeyRefused =>
  new KeyRefused('unknown-key', `team ${team} has no key ${id}`)

const allTaken = (team: TeamId): KeyRefused =>
  new KeyRefused('full', `team ${team} holds ${maxKeysPerTeam} keys already, revoked ones included; delete one first`)

const deletedMeanwhile = (id: string): KeyRefused => new KeyRefused('deleted', `key ${id} was deleted meanwhile`)
