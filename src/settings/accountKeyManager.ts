import type { KafkaSink, NewRecord } from '../core/kafka/sink.ts'
import {
  type AccountKeyState,
  accountKeyValue,
  deletedAfter,
  maxKeysPerTeam,
  recordValueOf,
} from '../core/model/accountKey.ts'
import { documentId, type EntityId, isIdentifier, type TeamId } from '../core/model/ids.ts'
import { type Instant, toInstant } from '../core/model/instant.ts'
import type { Config } from '../core/process/config.ts'
import { type AccountKeyStore, type StoredKey, stateOf } from '../core/stores/accountKeyStore.ts'
import {
  type CreatedKey,
  type CreateKeyRequest,
  KeyChangeIncomplete,
  KeyRefused,
  newKey,
  readTeam,
  revokedKey,
} from './keyRules.ts'

/** A record of the audit topic: who changed which key of a team, and when. */
export type KeyChange = {
  readonly at: Instant
  readonly by: string
  readonly team: TeamId
  readonly change: 'created' | 'revoked' | 'deleted'
  readonly key: {
    readonly id: string
    readonly name?: string | undefined
    readonly start?: string | null | undefined
    readonly expiresAt?: Instant | null | undefined
  }
}

type AccountKeyManagerDeps = {
  readonly store: AccountKeyStore
  readonly sink: Pick<KafkaSink, 'append'>
  readonly topics: Pick<Config, 'TOPIC_ACCOUNT_KEYS' | 'TOPIC_KEY_AUDIT'>
  /** Called after every completed change. */
  readonly onChange: (change: KeyChange) => void
  readonly nowMs: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

const kafkaTimeoutMs = 8_000
/**
 * Longer than KafkaJS may take to send (six tries, each with its wait for an answer), so that a slot is never given to another key while
 * the record of the first may still be written.
 */
const reservationMs = 600_000
const seedBytes = 32
const maxConflicts = 5

/**
 * Lists and changes account keys by one set of rules: ten slots a team, revoked keys included. Redis serves the keys, Kafka makes
 * them durable. A change is complete only when both have it, and Kafka its audit record; a revoked or deleted key stops working
 * in Redis first.
 */
export class AccountKeyManager {
  readonly #deps: AccountKeyManagerDeps

  constructor(deps: AccountKeyManagerDeps) {
    this.#deps = deps
  }

  /**
   * Creates a key; the plaintext exists in this answer only. With a `seed` of 32 secret bytes, the same request gives the same
   * key again, and never a second one.
   */
  async create(request: CreateKeyRequest): Promise<CreatedKey> {
    const { nowMs, randomBytes, onChange } = this.#deps
    const team = readTeam(request.team)
    const { key, plaintext } = newKey(request, request.seed ?? randomBytes(seedBytes), nowMs())
    const id = key.id as EntityId
    switch (await this.#reserve(team, id)) {
      case 'full':
        throw allTaken(team)
      case 'deleted':
        throw new KeyRefused('deleted', `key ${id} was deleted`)
      case 'held':
      case 'surplus':
        return { plaintext, key: await this.#find(team, id) }
      case 'reserved': {
        const change = this.#changeOf('created', team, request.by, key)
        await this.#add(team, key, change)
        onChange(change)
        return { plaintext, key }
      }
    }
  }

  async list(team: string): Promise<StoredKey[]> {
    return (await this.#deps.store.list(readTeam(team))).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  }

  /** The key stops working at once; it still holds its slot. */
  async revoke({ team, id, by }: { team: string; id: string; by: string }): Promise<void> {
    const { store, nowMs } = this.#deps
    const teamId = readTeam(team)
    const keyId = id as EntityId
    for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
      const key = await this.#find(teamId, id)
      const revoked = key.state === 'revoked' ? key : revokedKey(key, by, nowMs())
      const applied = key.state === 'revoked' ? 'applied' : (await store.apply(teamId, keyId, stateOf(revoked))).kind
      if (applied !== 'applied') continue
      return await this.#complete(stateOf(revoked), this.#changeOf('revoked', teamId, by, revoked))
    }
    throw new KeyChangeIncomplete(`key ${id} changes too often; try again`)
  }

  /** The key is gone for good and its slot is free. Deleting again completes a deletion that Kafka did not take. */
  async delete({ team, id, by }: { team: string; id: string; by: string }): Promise<void> {
    const { store } = this.#deps
    const teamId = readTeam(team)
    const keyId = id as EntityId
    const stored = isIdentifier(id) ? await store.find(teamId, keyId) : undefined
    if (stored === undefined) throw unknownKey(teamId, id)
    const deleted = stored.key === null ? stored : deletedAfter(stored.revision)
    if (stored.key !== null) await store.apply(teamId, keyId, deleted)
    await this.#complete(deleted, this.#changeOf('deleted', teamId, by, stored.key ?? { id: keyId }))
  }

  async #find(team: TeamId, id: string): Promise<StoredKey> {
    const key = (await this.#deps.store.list(team)).find((each) => each.id === id)
    if (key === undefined) throw unknownKey(team, id)
    return key
  }

  #reserve(team: TeamId, id: EntityId): ReturnType<AccountKeyStore['reserve']> {
    const { store, nowMs } = this.#deps
    return store.reserve(team, id, nowMs(), nowMs() + reservationMs)
  }

  /** Writes a new key to Kafka, then to Redis, where it works from then on. */
  async #add(team: TeamId, key: StoredKey, change: KeyChange): Promise<void> {
    const { store } = this.#deps
    const id = key.id as EntityId
    try {
      await this.#record(stateOf(key), change)
      await this.#expectSlot(team, id)
    } catch (error) {
      if (error instanceof KeyRefused && error.reason === 'deleted') throw error
      const reason = `its record was not completed (${(error as Error).message})`
      const deleted = deletedAfter(key.revision)
      // Deleted rather than released: Kafka may have written the record after all, and an eleventh key must not come of it.
      await store.apply(team, id, deleted).catch((failure: Error) => {
        throw new KeyChangeIncomplete(
          `${reason}, and its slot could not be given back (${failure.message}): delete ${id}`,
        )
      })
      // For a Redis that forgets. When Kafka does not take this either, an indexer that reads the record later writes it.
      await this.#append(team, id, deleted).catch(() => undefined)
      throw error instanceof KeyRefused ? error : new KeyChangeIncomplete(`no key was created: ${reason}`)
    }
    const { kind } = await store.apply(team, id, stateOf(key)).catch((error: Error) => {
      throw new KeyChangeIncomplete(`key ${id} is recorded, but Redis does not have it (${error.message}): delete it`)
    })
    if (kind !== 'applied' && (await store.find(team, id))?.key === null) throw deletedMeanwhile(id)
  }

  /**
   * Throws unless a key still has a slot after its record was appended: Redis may have lost the slot before, and given it to another key.
   * From the record on, a Redis that loses its data holds the key again before it gives out a slot. So the later one of two creations sees
   * the other; both may be refused.
   */
  async #expectSlot(team: TeamId, id: EntityId): Promise<void> {
    const reserved = await this.#reserve(team, id)
    if (reserved === 'full' || reserved === 'surplus') throw allTaken(team)
    if (reserved === 'deleted') throw deletedMeanwhile(id)
  }

  /**
   * Makes a change durable that has taken effect in Redis, and tells of it. Redis may have lost it meanwhile, and been filled again from
   * records that do not tell of it: there it takes effect once more.
   */
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
    this.#deps.onChange(change)
  }

  /**
   * Writes the audit record and the key's own record to Kafka. If another process has changed the key meanwhile, its record may have been
   * appended before this one; so it is appended again, until the newest record is the last.
   */
  async #record(state: AccountKeyState, change: KeyChange): Promise<void> {
    const { store, sink, topics } = this.#deps
    const { team } = change
    const id = change.key.id as EntityId
    const audit = { topic: topics.TOPIC_KEY_AUDIT, key: documentId(team, id), value: JSON.stringify(change) }
    await sink.append([audit, this.#recordOf(team, id, state)], kafkaTimeoutMs)
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

  async #append(team: TeamId, id: EntityId, state: AccountKeyState): Promise<void> {
    await this.#deps.sink.append([this.#recordOf(team, id, state)], kafkaTimeoutMs)
  }

  #recordOf(team: TeamId, id: EntityId, state: AccountKeyState): NewRecord {
    const value = recordValueOf(state)
    return { topic: this.#deps.topics.TOPIC_ACCOUNT_KEYS, key: documentId(team, id), value }
  }

  #changeOf(change: KeyChange['change'], team: TeamId, by: string, key: KeyChange['key']): KeyChange {
    const { id, name, start, expiresAt } = key
    const at = toInstant(this.#deps.nowMs())
    return { at, by: by.toWellFormed(), team, change, key: { id, name, start, expiresAt } }
  }
}

const unknownKey = (team: TeamId, id: string): KeyRefused =>
  new KeyRefused('unknown-key', `team ${team} has no key ${id}`)

const allTaken = (team: TeamId): KeyRefused =>
  new KeyRefused('full', `team ${team} holds ${maxKeysPerTeam} keys already, revoked ones included; delete one first`)

const deletedMeanwhile = (id: string): KeyRefused => new KeyRefused('deleted', `key ${id} was deleted meanwhile`)
