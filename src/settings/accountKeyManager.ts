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

/** The rule that a request breaks; `deleted`: the key was deleted while it was being created or revoked. */
type KeyRefusal = 'team' | 'name' | 'expires' | 'full' | 'unknown-key' | 'deleted'

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

/** `seed` is 32 secret bytes; without one, every request creates another key. */
type CreateKeyRequest = {
  readonly team: string
  readonly name: string
  readonly by: string
  readonly expires?: string | undefined
  readonly seed?: Uint8Array | undefined
}

/** `isNew`: this request made the key. */
export type CreatedKey = { readonly plaintext: string; readonly key: AccountKey; readonly isNew: boolean }

export type UsedKey = AccountKey & { readonly lastUsedAt: Instant | null }

type ChangeKeyRequest = { readonly team: string; readonly id: string; readonly by: string }

const idBytes = 12
const plaintextBytes = 32
const seedBytes = 32
/**
 * Longer than KafkaJS may take to send (six tries, each with its wait for an answer), so that a slot is never given to another key while
 * the record of the first may still be written.
 */
const reservationMs = 600_000
const maxConflicts = 5

type AccountKeyManagerDeps = {
  readonly store: AccountKeyStore
  readonly sink: Pick<KafkaSink, 'append'>
  readonly topics: Pick<Config, 'TOPIC_ACCOUNT_KEYS' | 'TOPIC_KEY_AUDIT'>
  readonly log: Logger
  readonly nowMs: () => number
}

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

  /** Creates a key; the plaintext exists in this answer only. With a `seed`, the same request gives the same key again, and never a second one. */
  async create(request: CreateKeyRequest): Promise<CreatedKey> {
    const { nowMs } = this.#deps
    const team = readTeam(request.team)
    const { key, plaintext } = newKey(request, request.seed ?? randomBytes(seedBytes), nowMs())
    if ((await this.#reserve(team, key)) !== 'reserved')
      return { plaintext, key: (await this.#find(team, key.id)).key, isNew: false }
    const change = keyChange('created', team, request.by, key, nowMs())
    await this.#add(team, key, change)
    this.#log(change)
    return { plaintext, key, isNew: true }
  }

  /** The keys of a team, the oldest first, each with its last use (`AccountKeyStore.lastUse`). */
  async list(team: string): Promise<UsedKey[]> {
    const { store } = this.#deps
    const teamId = readTeam(team)
    const [keys, lastUse] = await Promise.all([store.list(teamId), store.lastUse(teamId)])
    const used = keys.map((key) => ({ ...key, lastUsedAt: lastUse.get(key.id as EntityId) ?? null }))
    return used.sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1))
  }

  /** The key stops working at once; it still holds its slot. */
  async revoke({ team, id, by }: ChangeKeyRequest): Promise<void> {
    const { store, nowMs } = this.#deps
    const teamId = readTeam(team)
    for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
      const { revision, key } = await this.#find(teamId, id)
      const isRevoked = key.state === 'revoked'
      const revocation = { state: 'revoked', revokedAt: toInstant(nowMs()), revokedBy: by.toWellFormed() } as const
      const revoked = isRevoked ? key : { ...key, ...revocation }
      const state = { revision: isRevoked ? revision : revisionAfter(revision), key: revoked }
      const since = `-${nowMs()}` as const
      if (!isRevoked && (await store.apply(teamId, id as EntityId, state, since)).kind !== 'applied') continue
      return await this.#complete(state, keyChange('revoked', teamId, by, revoked, nowMs()))
    }
    throw new KeyChangeIncomplete(`key ${id} changes too often; try again`)
  }

  /** The key is gone for good and its slot is free. Deleting again completes a deletion that Kafka did not take. */
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

  /** A live key with its revision. */
  async #find(team: TeamId, id: string) {
    const found = await this.#deps.store.find(team, id as EntityId)
    if (found?.key == null) throw unknownKey(team, id)
    return { revision: found.revision, key: found.key }
  }

  /** Takes a slot for a key, unless it has one. Throws `KeyRefused` when none is free, or the key was deleted. */
  async #reserve(team: TeamId, { id }: AccountKey): Promise<'reserved' | 'held' | 'surplus'> {
    const { store, nowMs } = this.#deps
    const reserved = await store.reserve(team, id as EntityId, nowMs(), nowMs() + reservationMs)
    if (reserved === 'full') throw allTaken(team)
    if (reserved === 'deleted') throw deletedMeanwhile(id)
    return reserved
  }

  /** Writes a new key to Kafka, then to Redis, where it works from then on. */
  async #add(team: TeamId, key: AccountKey, change: KeyChange): Promise<void> {
    const { store, nowMs } = this.#deps
    const id = key.id as EntityId
    const created = { revision: 1 as Revision, key }
    try {
      await this.#record(created, change)
      // Redis may have lost the slot meanwhile, and given it to another key. From the record on, a Redis that loses its data holds the key
      // again before it gives out a slot: the later one of two creations sees the other, and both may be refused.
      if ((await this.#reserve(team, key)) === 'surplus') throw allTaken(team)
    } catch (error) {
      if (error instanceof KeyRefused && error.reason === 'deleted') throw error
      const reason = `its record was not completed (${(error as Error).message})`
      const stored = error instanceof KeyRefused ? undefined : await store.find(team, id).catch(() => undefined)
      // An indexer has read its record after all, or another process has made it of the same form, and may have shown it.
      if (stored?.key != null) throw new KeyChangeIncomplete(`key ${id} exists, but ${reason}`)
      const deleted = deletedAfter(created.revision)
      // Deleted rather than released: Kafka may have written the record after all, and an eleventh key must not come of it.
      await store.apply(team, id, deleted, `-${nowMs()}`).catch((failure: Error) => {
        throw new KeyChangeIncomplete(
          `${reason}, and its slot could not be given back (${failure.message}): delete ${id} once it is listed`,
        )
      })
      // For a Redis that forgets. When Kafka does not take this either, `unreadChanges` completes it.
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

  /**
   * Makes a change durable that has taken effect in Redis. There it takes effect once more: Redis may have lost it meanwhile, and been
   * filled again from records that do not tell of it.
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
    this.#log(change)
  }

  /**
   * Writes the audit record and the key's own record to Kafka. If another process has changed the key meanwhile, its record may have been
   * appended before this one; so it is appended again, until the newest record is the last.
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

  /** Appends the record of a state, after its audit record. */
  async #append(team: TeamId, id: EntityId, state: AccountKeyState, ...audit: NewRecord[]): Promise<void> {
    const record = {
      topic: this.#deps.topics.TOPIC_ACCOUNT_KEYS,
      key: documentId(team, id),
      value: recordValueOf(state),
    }
    await this.#deps.sink.append([...audit, record])
  }

  #log({ change, team, by, key }: KeyChange): void {
    this.#deps.log.info({ change, teamId: team, keyId: key.id, by }, 'account key changed')
  }
}

/** A record of the audit topic: who changed which key of a team, and when. */
const keyChange = (
  change: 'created' | 'revoked' | 'deleted',
  team: TeamId,
  by: string,
  { id, name, start, expiresAt }: Pick<AccountKey, 'id'> & Partial<AccountKey>,
  nowMs: number,
) => ({ at: toInstant(nowMs), by: by.toWellFormed(), team, change, key: { id, name, start, expiresAt } })
type KeyChange = ReturnType<typeof keyChange>

/** The key that a request describes. Throws `KeyRefused` for an expiry or a name that breaks its rule. */
function newKey({ name, by, expires }: CreateKeyRequest, seed: Uint8Array, nowMs: number): Omit<CreatedKey, 'isNew'> {
  // HKDF: neither id nor plaintext can be computed from the other, only from the seed.
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
