import { hkdfSync } from 'node:crypto'
import {
  type AccountKey,
  accountKeySchema,
  digestOf,
  maxKeysPerTeam,
  plaintextFrom,
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
import type { Config } from '../core/process/config.ts'
import { deletedRecords, keyRecord } from '../core/stores/accountKeyMemory.ts'
import type { AccountKeyStore, StoredKey } from '../core/stores/accountKeyStore.ts'
import type { KafkaSink, NewRecord } from '../core/stores/kafkaSink.ts'

/** The rule that a request breaks; `deleted`: the key was deleted while it was being created or revoked. */
export type KeyRefusal = 'team' | 'name' | 'expires' | 'full' | 'unknown-key' | 'deleted'

/** A request that breaks a rule of account keys; the message is for people. */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
  readonly reason: KeyRefusal

  constructor(reason: KeyRefusal, message: string) {
    super(message)
    this.reason = reason
  }
}

/** The change took effect in Redis or in Kafka only; repeating the request is safe and completes it. */
export class KeyChangeIncomplete extends Error {
  override readonly name = 'KeyChangeIncomplete'
}

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

/** The topics of the account keys, of what the indexer remembers of them, and of the audit. */
export type KeyTopics = { readonly keys: string; readonly memory: string; readonly audit: string }

export const keyTopics = (config: Config): KeyTopics => ({
  keys: config.TOPIC_ACCOUNT_KEYS,
  memory: config.TOPIC_KEY_MEMORY,
  audit: config.TOPIC_KEY_AUDIT,
})

export type AccountKeysDeps = {
  readonly store: AccountKeyStore
  readonly sink: Pick<KafkaSink, 'append'>
  readonly topics: KeyTopics
  /** Called after every completed change. */
  readonly onChange: (change: KeyChange) => void
  readonly clock: () => number
  readonly randomBytes: (count: number) => Uint8Array
}

export type CreateKeyRequest = {
  readonly team: string
  readonly name: string
  readonly by: string
  readonly expires?: string | undefined
  readonly seed?: Uint8Array | undefined
}

export type CreatedKey = { readonly plaintext: string; readonly key: StoredKey }

const kafkaTimeoutMs = 10_000
/**
 * Longer than KafkaJS may take to send (six tries, up to half a minute each), so that a slot is never given to another key while
 * the record of the first may still be written.
 */
const reservationMs = 600_000
const idBytes = 12
const plaintextBytes = 32
const seedBytes = 32
const maxConflicts = 5

/**
 * Lists and changes account keys by one set of rules: ten slots a team, revoked keys included. Redis serves the keys, Kafka makes
 * them durable. A change is complete only when both have it, and Kafka its audit record; a revoked or deleted key stops working
 * in Redis first.
 */
export class AccountKeys {
  readonly #deps: AccountKeysDeps

  constructor(deps: AccountKeysDeps) {
    this.#deps = deps
  }

  /**
   * Creates a key; the plaintext exists in this answer only. With a `seed` of 32 secret bytes, the same request gives the same
   * key again, and never a second one.
   */
  async create(request: CreateKeyRequest): Promise<CreatedKey> {
    const { store, clock, randomBytes, onChange } = this.#deps
    const team = readTeam(request.team)
    const { key, plaintext } = newKey(request, request.seed ?? randomBytes(seedBytes), clock())
    const id = key.id as EntityId
    switch (await store.reserve(team, id, clock(), clock() + reservationMs)) {
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
    const { store, clock, onChange } = this.#deps
    const teamId = readTeam(team)
    for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
      const key = await this.#find(teamId, id)
      const revoked = key.state === 'revoked' ? key : revokedOf(key, by, clock())
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
    const audit = { topic: topics.audit, key: documentId(team, id), value: JSON.stringify(change) }
    await this.#send([audit, ...this.#recordsOf(team, id, key)])
    if (key === null || !(await store.wasDeleted(team, id))) return
    // The key's record may have been appended after its tombstone, which must be the last.
    await this.#send(this.#recordsOf(team, id, null))
    throw new KeyRefused('deleted', `key ${id} was deleted meanwhile`)
  }

  #recordsOf(team: TeamId, id: EntityId, key: StoredKey | null): NewRecord[] {
    const { topics } = this.#deps
    const value = key === null ? null : keyRecord(key)
    const records = [{ topic: topics.keys, key: documentId(team, id), value }]
    return key === null ? [...records, ...deletedRecords(topics.memory, team, id)] : records
  }

  async #send(records: readonly NewRecord[]): Promise<void> {
    await this.#deps.sink.append(records, kafkaTimeoutMs)
  }

  #changeOf(change: KeyChange['change'], team: TeamId, by: string, key: KeyChange['key']): KeyChange {
    const { id, name, start, expiresAt } = key
    const at = toInstant(this.#deps.clock())
    return { at, by: by.toWellFormed(), team, change, key: { id, name, start, expiresAt } }
  }
}

/** The key that a request describes. Rejects an expiry or a name that breaks its rule. */
function newKey({ name, by, expires }: CreateKeyRequest, seed: Uint8Array, nowMs: number): CreatedKey {
  const expiresAt = readExpiry(expires, nowMs)
  const { id, plaintext } = derivedFrom(seed)
  const key: StoredKey = {
    id,
    name: name.toWellFormed(),
    digest: digestOf(plaintext),
    start: startOf(plaintext),
    state: 'active',
    createdAt: toInstant(nowMs),
    createdBy: by.toWellFormed(),
    expiresAt,
    revision: 1 as Revision,
  }
  readName(key)
  return { key, plaintext }
}

/** Derives id and plaintext with HKDF: neither can be computed from the other, only from the seed. */
function derivedFrom(seed: Uint8Array): { readonly id: EntityId; readonly plaintext: string } {
  const part = (use: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', seed, '', use, bytes))
  return {
    id: `key_${part('account key id', idBytes).toString('base64url')}` as EntityId,
    plaintext: plaintextFrom(part('account key', plaintextBytes)),
  }
}

const revokedOf = (key: StoredKey, by: string, nowMs: number): StoredKey => ({
  ...key,
  state: 'revoked',
  revokedAt: toInstant(nowMs),
  revokedBy: by.toWellFormed(),
  revision: (key.revision + 1) as Revision,
})

/** Any error but a refusal means that the change took effect in Redis (`done`), and not yet in Kafka. */
async function incompleteOnError(recorded: Promise<void>, done: string): Promise<void> {
  try {
    await recorded
  } catch (error) {
    if (error instanceof KeyRefused) throw error
    throw new KeyChangeIncomplete(`${done}, but that is not durable yet (${(error as Error).message}): try again`)
  }
}

function readTeam(team: string): TeamId {
  if (!isIdentifier(team)) throw new KeyRefused('team', `team must be ${identifierRule}`)
  return team as TeamId
}

function readName({ name }: Pick<AccountKey, 'name'>): void {
  const { name: rule } = accountKeySchema.shape
  if (!rule.safeParse(name).success) throw new KeyRefused('name', 'name must be 1 to 100 characters')
}

function readExpiry(text: string | undefined, nowMs: number): AccountKey['expiresAt'] {
  if (text === undefined) return null
  const expiresAt = parseInstant(text)
  if (expiresAt === undefined) throw new KeyRefused('expires', `expires must be ${instantRule}`)
  if (Date.parse(expiresAt) <= nowMs) throw new KeyRefused('expires', 'expires must lie in the future')
  return expiresAt
}
