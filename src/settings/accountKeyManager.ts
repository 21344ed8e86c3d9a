import { maxKeysPerTeam } from '../core/model/accountKey.ts'
import { documentId, type EntityId, isIdentifier, type TeamId } from '../core/model/ids.ts'
import { type Instant, toInstant } from '../core/model/instant.ts'
import type { Config } from '../core/process/config.ts'
import { deletedRecords, keyRecord } from '../core/stores/accountKeyMemory.ts'
import type { AccountKeyStore, StoredKey } from '../core/stores/accountKeyStore.ts'
import type { KafkaSink, NewRecord } from '../core/stores/kafkaSink.ts'
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
  /** The topics of the account keys, of what a replay needs besides, and of the audit. */
  readonly topics: Pick<Config, 'TOPIC_ACCOUNT_KEYS' | 'TOPIC_KEY_MEMORY' | 'TOPIC_KEY_AUDIT'>
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
    const { store, nowMs, randomBytes, onChange } = this.#deps
    const team = readTeam(request.team)
    const { key, plaintext } = newKey(request, request.seed ?? randomBytes(seedBytes), nowMs())
    const id = key.id as EntityId
    switch (await store.reserve(team, id, nowMs(), nowMs() + reservationMs)) {
      case 'full':
        throw new KeyRefused(
          'full',
          `team ${team} holds ${maxKeysPerTeam} keys already, revoked ones included; delete one first`,
        )
      case 'deleted':
        throw new KeyRefused('deleted', `key ${id} was deleted`)
      case 'held':
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
    const { store, nowMs, onChange } = this.#deps
    const teamId = readTeam(team)
    for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
      const key = await this.#find(teamId, id)
      const revoked = key.state === 'revoked' ? key : revokedKey(key, by, nowMs())
      const applied = key.state === 'revoked' ? 'applied' : await store.apply(teamId, id as EntityId, revoked)
      if (applied === 'stale') continue
      const change = this.#changeOf('revoked', teamId, by, revoked)
      await incompleteOnError(this.#record(teamId, id as EntityId, revoked, change), `key ${id} no longer works`)
      return onChange(change)
    }
    throw new KeyChangeIncomplete(`key ${id} changes too often; try again`)
  }

  /** The key is gone for good and its slot is free. */
  async delete({ team, id, by }: { team: string; id: string; by: string }): Promise<void> {
    const { store, onChange } = this.#deps
    const teamId = readTeam(team)
    const keyId = id as EntityId
    // Deleting again completes a deletion that Kafka did not take.
    const wasDeleted = isIdentifier(id) && (await store.wasDeleted(teamId, keyId))
    const change = this.#changeOf('deleted', teamId, by, wasDeleted ? { id: keyId } : await this.#find(teamId, id))
    await store.apply(teamId, keyId, null)
    await incompleteOnError(this.#record(teamId, keyId, null, change), `key ${id} no longer works`)
    onChange(change)
  }

  async #find(team: TeamId, id: string): Promise<StoredKey> {
    const key = (await this.#deps.store.list(team)).find((each) => each.id === id)
    if (key === undefined) throw new KeyRefused('unknown-key', `team ${team} has no key ${id}`)
    return key
  }

  /** Writes a new key to Kafka, then to Redis, where it works from then on. */
  async #add(team: TeamId, key: StoredKey, change: KeyChange): Promise<void> {
    const { store } = this.#deps
    const id = key.id as EntityId
    try {
      await this.#record(team, id, key, change)
    } catch (error) {
      if (error instanceof KeyRefused) throw error
      const reason = `its record was not completed (${(error as Error).message})`
      // Deleted rather than released: Kafka may have written the record after all, and an eleventh key must not come of it.
      await store.apply(team, id, null).catch((failure: Error) => {
        throw new KeyChangeIncomplete(
          `${reason}, and its slot could not be given back (${failure.message}): delete ${id}`,
        )
      })
      // For a Redis that forgets. When Kafka does not take this either, an indexer that reads the record writes it.
      await this.#send(this.#recordsOf(team, id, null)).catch(() => undefined)
      throw new KeyChangeIncomplete(`no key was created: ${reason}`)
    }
    const applied = await store.apply(team, id, key).catch((error: Error) => {
      throw new KeyChangeIncomplete(`key ${id} is recorded, but Redis does not have it (${error.message}): delete it`)
    })
    if (applied === 'digest-held') throw new Error(`another key has the digest of ${id}`)
    if (applied === 'stale' && (await store.wasDeleted(team, id)))
      throw new KeyRefused('deleted', `key ${id} was deleted meanwhile`)
  }

  /** Writes the audit record and the key's own record to Kafka; `key` is null for a deletion. */
  async #record(team: TeamId, id: EntityId, key: StoredKey | null, change: KeyChange): Promise<void> {
    const { store, topics } = this.#deps
    const audit = { topic: topics.TOPIC_KEY_AUDIT, key: documentId(team, id), value: JSON.stringify(change) }
    await this.#send([audit, ...this.#recordsOf(team, id, key)])
    if (key === null || !(await store.wasDeleted(team, id))) return
    // The key's record may have been appended after its tombstone, which must be the last.
    await this.#send(this.#recordsOf(team, id, null))
    throw new KeyRefused('deleted', `key ${id} was deleted meanwhile`)
  }

  #recordsOf(team: TeamId, id: EntityId, key: StoredKey | null): NewRecord[] {
    const { topics } = this.#deps
    const value = key === null ? null : keyRecord(key)
    const records = [{ topic: topics.TOPIC_ACCOUNT_KEYS, key: documentId(team, id), value }]
    return key === null ? [...records, ...deletedRecords(topics.TOPIC_KEY_MEMORY, team, id)] : records
  }

  async #send(records: readonly NewRecord[]): Promise<void> {
    await this.#deps.sink.append(records, kafkaTimeoutMs)
  }

  #changeOf(change: KeyChange['change'], team: TeamId, by: string, key: KeyChange['key']): KeyChange {
    const { id, name, start, expiresAt } = key
    const at = toInstant(this.#deps.nowMs())
    return { at, by: by.toWellFormed(), team, change, key: { id, name, start, expiresAt } }
  }
}

/** Any error but a refusal means that the change took effect in Redis (`done`), and not yet in Kafka. */
async function incompleteOnError(recorded: Promise<void>, done: string): Promise<void> {
  try {
    await recorded
  } catch (error) {
    if (error instanceof KeyRefused) throw error
    throw new KeyChangeIncomplete(`${done}, but that is not durable yet (${(error as Error).message}): try again`)
  }
}
