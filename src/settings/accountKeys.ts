import { hkdfSync } from 'node:crypto'
import type { Producer, TopicMessages } from 'kafkajs'
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
import { deletedMessages, keyRecord } from '../core/stores/accountKeyMemory.ts'
import type { AccountKeyStore, StoredKey } from '../core/stores/accountKeyStore.ts'

/** Which rule a request breaks; `deleted` a key that was deleted while it was created or revoked. */
export type KeyRefusal = 'team' | 'name' | 'expires' | 'full' | 'unknown-key' | 'deleted'

/** A request that the rules of account keys refuse; the message tells a person why. */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
  readonly reason: KeyRefusal

  constructor(reason: KeyRefusal, message: string) {
    super(message)
    this.reason = reason
  }
}

/** What was asked took effect in one place only; asking again is safe and completes it. */
export class KeyChangeIncomplete extends Error {
  override readonly name = 'KeyChangeIncomplete'
}

/** Who changed which key of a team, and when: what the audit keeps. */
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

/** The account keys, what is remembered of them, and the audit of their changes. */
export type KeyTopics = { readonly keys: string; readonly memory: string; readonly audit: string }

export const keyTopics = (config: Config): KeyTopics => ({
  keys: config.TOPIC_ACCOUNT_KEYS,
  memory: config.TOPIC_KEY_MEMORY,
  audit: config.TOPIC_KEY_AUDIT,
})

export type AccountKeys = {
  /**
   * Creates a key; the plaintext exists in this answer only. With a `seed` of 32 secret bytes, asking again gives the same key,
   * and never a second one.
   */
  create(request: {
    team: string
    name: string
    by: string
    expires?: string | undefined
    seed?: Uint8Array
  }): Promise<{ plaintext: string; key: StoredKey }>
  list(team: string): Promise<StoredKey[]>
  /** The key stops working at once; it still holds its slot. */
  revoke(request: { team: string; id: string; by: string }): Promise<void>
  /** The key is gone for good and its slot is free. */
  delete(request: { team: string; id: string; by: string }): Promise<void>
}

const kafkaTimeoutMs = 10_000
/**
 * Outlives the longest wait for Kafka (KafkaJS tries six times, up to half a minute each), so that a slot is never given away
 * while its record may still be written.
 */
const reservationMs = 600_000
const idBytes = 12
const plaintextBytes = 32
const seedBytes = 32
const maxConflicts = 5

/**
 * The rules of account keys: ten slots a team, revoked keys included. Redis is where a key lives, Kafka where it lasts. A
 * change is done only when both have it, and its audit record with it; a revoked or deleted key stops in Redis first.
 */
export function accountKeys(options: {
  view: AccountKeyStore
  producer: Producer
  topics: KeyTopics
  /** Is told of every change that is done. */
  onChange: (change: KeyChange) => void
  clock: () => number
  randomBytes: (count: number) => Uint8Array
}): AccountKeys {
  const { view, producer, topics, onChange, clock, randomBytes } = options

  const recordsOf = (team: TeamId, id: EntityId, key: StoredKey | null): TopicMessages[] => {
    const value = key === null ? null : keyRecord(key)
    const records = [{ topic: topics.keys, messages: [{ key: documentId(team, id), value }] }]
    return key === null ? [...records, { topic: topics.memory, messages: deletedMessages(team, id) }] : records
  }
  const send = async (topicMessages: TopicMessages[]): Promise<void> => {
    await producer.sendBatch({ acks: -1, timeout: kafkaTimeoutMs, topicMessages })
  }
  const record = async (team: TeamId, id: EntityId, key: StoredKey | null, change: KeyChange): Promise<void> => {
    const audit = { topic: topics.audit, messages: [{ key: documentId(team, id), value: JSON.stringify(change) }] }
    await send([audit, ...recordsOf(team, id, key)])
    if (key === null || !(await view.wasDeleted(team, id))) return
    // The live record may have come after the deletion, which has to be the last word.
    await send(recordsOf(team, id, null))
    throw new KeyRefused('deleted', `key ${id} was deleted meanwhile`)
  }
  const changeOf = (change: KeyChange['change'], team: TeamId, by: string, key: KeyChange['key']): KeyChange => {
    const { id, name, start, expiresAt } = key
    return { at: toInstant(clock()), by: by.toWellFormed(), team, change, key: { id, name, start, expiresAt } }
  }

  const find = async (team: TeamId, id: string): Promise<StoredKey> => {
    const key = (await view.list(team)).find((each) => each.id === id)
    if (key === undefined) throw new KeyRefused('unknown-key', `team ${team} has no key ${id}`)
    return key
  }

  const add = async (team: TeamId, key: StoredKey, change: KeyChange): Promise<void> => {
    const id = key.id as EntityId
    try {
      await record(team, id, key, change)
    } catch (error) {
      if (error instanceof KeyRefused) throw error
      const reason = `its record was not completed (${(error as Error).message})`
      // Deleted, not only released: should Kafka have written the record after all, it must bring no eleventh key.
      await view.apply(team, id, null).catch((failure: Error) => {
        throw new KeyChangeIncomplete(
          `${reason}, and its slot could not be given back (${failure.message}): delete ${id}`,
        )
      })
      // For a Redis that forgets. When Kafka does not take this either, an indexer that reads the record writes it.
      await send(recordsOf(team, id, null)).catch(() => undefined)
      throw new KeyChangeIncomplete(`no key was created: ${reason}`)
    }
    const applied = await view.apply(team, id, key).catch((error: Error) => {
      throw new KeyChangeIncomplete(`key ${id} is recorded, but Redis does not have it (${error.message}): delete it`)
    })
    if (applied === 'digest-held') throw new Error(`another key has the digest of ${id}`)
    if (applied === 'stale' && (await view.wasDeleted(team, id)))
      throw new KeyRefused('deleted', `key ${id} was deleted meanwhile`)
  }

  return {
    create: async ({ team, name, by, expires, seed = randomBytes(seedBytes) }) => {
      const teamId = readTeam(team)
      const expiresAt = readExpiry(expires, clock())
      const { id, plaintext } = drawnFrom(seed)
      const key = {
        id,
        name: name.toWellFormed(),
        digest: digestOf(plaintext),
        start: startOf(plaintext),
        state: 'active',
        createdAt: toInstant(clock()),
        createdBy: by.toWellFormed(),
        expiresAt,
        revision: 1 as Revision,
      } as const
      readName(key)
      switch (await view.reserve(teamId, id, clock(), clock() + reservationMs)) {
        case 'full':
          throw new KeyRefused(
            'full',
            `team ${teamId} holds ${maxKeysPerTeam} keys already, revoked ones included; delete one first`,
          )
        case 'deleted':
          throw new KeyRefused('deleted', `key ${id} was deleted`)
        case 'held':
          return { plaintext, key: await find(teamId, id) }
        case 'reserved': {
          const change = changeOf('created', teamId, by, key)
          await add(teamId, key, change)
          onChange(change)
          return { plaintext, key }
        }
      }
    },

    list: async (team) => (await view.list(readTeam(team))).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),

    revoke: async ({ team, id, by }) => {
      const teamId = readTeam(team)
      for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
        const key = await find(teamId, id)
        const revoked = key.state === 'revoked' ? key : revokedOf(key, by, clock())
        const applied = key.state === 'revoked' ? 'applied' : await view.apply(teamId, id as EntityId, revoked)
        if (applied === 'stale') continue
        const change = changeOf('revoked', teamId, by, revoked)
        await lasting(record(teamId, id as EntityId, revoked, change), `key ${id} no longer works`)
        return onChange(change)
      }
      throw new KeyChangeIncomplete(`key ${id} changes too often; try again`)
    },

    delete: async ({ team, id, by }) => {
      const teamId = readTeam(team)
      const keyId = id as EntityId
      // Deleting again completes a deletion that Kafka did not take.
      const wasDeleted = isIdentifier(id) && (await view.wasDeleted(teamId, keyId))
      const change = changeOf('deleted', teamId, by, wasDeleted ? { id: keyId } : await find(teamId, id))
      await view.apply(teamId, keyId, null)
      await lasting(record(teamId, keyId, null, change), `key ${id} no longer works`)
      onChange(change)
    },
  }
}

/** Whoever has the seed has the key; nobody else can tell one from the other. */
function drawnFrom(seed: Uint8Array): { readonly id: EntityId; readonly plaintext: string } {
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

async function lasting(recorded: Promise<void>, done: string): Promise<void> {
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
