import type { Producer } from 'kafkajs'
import {
  type AccountKey,
  accountKeySchema,
  digestOf,
  maxKeysPerTeam,
  plaintextFrom,
  startOf,
} from '../src/domain/accountKey.ts'
import {
  documentId,
  type EntityId,
  identifierRule,
  isIdentifier,
  type Revision,
  type TeamId,
} from '../src/domain/identifiers.ts'
import { parseInstant, toInstant } from '../src/domain/instant.ts'
import type { KeyView, StoredKey } from '../src/replica/keyView.ts'

/** A request that the rules of account keys refuse; the message tells a person why. */
export class KeyRefused extends Error {
  override readonly name = 'KeyRefused'
}

/** What was asked took effect in one place only; asking again is safe and completes it. */
export class KeyChangeIncomplete extends Error {
  override readonly name = 'KeyChangeIncomplete'
}

export type AccountKeys = {
  /** Creates a key; the plaintext exists in this answer only. */
  create(request: {
    team: string
    name: string
    by: string
    expires?: string | undefined
  }): Promise<{ plaintext: string; key: StoredKey }>
  list(team: string): Promise<StoredKey[]>
  /** The key stops working at once; it still holds its slot. */
  revoke(request: { team: string; id: string; by: string }): Promise<void>
  /** The key is gone for good and its slot is free. */
  delete(request: { team: string; id: string }): Promise<void>
}

const kafkaTimeoutMs = 10_000
/**
 * Outlives the longest wait for Kafka (KafkaJS tries six times, up to half a minute each), so that a slot is never given away
 * while its record may still be written.
 */
const reservationMs = 600_000
const idBytes = 12
const plaintextBytes = 32
const maxConflicts = 5

/**
 * The rules of account keys: ten slots a team, revoked keys included. Redis is where a key lives, Kafka where it lasts. A
 * change is done only when both have it; a revoked or deleted key stops in Redis first.
 */
export function accountKeys(options: {
  view: KeyView
  producer: Producer
  topic: string
  clock: () => number
  randomBytes: (count: number) => Uint8Array
}): AccountKeys {
  const { view, producer, topic, clock, randomBytes } = options

  const record = async (team: TeamId, id: EntityId, key: StoredKey | null): Promise<void> => {
    await producer.send({
      topic,
      acks: -1,
      timeout: kafkaTimeoutMs,
      messages: [{ key: documentId(team, id), value: key === null ? null : recordOf(key) }],
    })
  }

  const find = async (team: TeamId, id: string): Promise<StoredKey> => {
    const key = (await view.list(team)).find((each) => each.id === id)
    if (key === undefined) throw new KeyRefused(`team ${team} has no key ${id}`)
    return key
  }

  return {
    create: async ({ team, name, by, expires }) => {
      const teamId = readTeam(team)
      const expiresAt = readExpiry(expires, clock())
      const plaintext = plaintextFrom(randomBytes(plaintextBytes))
      const id = `key_${Buffer.from(randomBytes(idBytes)).toString('base64url')}` as EntityId
      const createdAt = toInstant(clock())
      const digest = digestOf(plaintext)
      const key = {
        id,
        name: name.toWellFormed(),
        digest,
        start: startOf(plaintext),
        state: 'active',
        createdAt,
        createdBy: by.toWellFormed(),
        expiresAt,
      } as const
      readName(key)
      const stored = { ...key, revision: 1 as Revision }
      const slot = await view.reserve(teamId, id, clock(), clock() + reservationMs)
      if (slot === 'full')
        throw new KeyRefused(
          `team ${teamId} holds ${maxKeysPerTeam} keys already, revoked ones included; delete one first`,
        )
      try {
        await record(teamId, id, stored)
      } catch (error) {
        const reason = `Kafka did not take its record (${(error as Error).message})`
        // Deleted, not only released: should Kafka have written the record after all, it must bring no eleventh key.
        await view.apply(teamId, id, null).catch((failure: Error) => {
          throw new KeyChangeIncomplete(
            `${reason}, and its slot could not be given back (${failure.message}): delete ${id}`,
          )
        })
        throw new KeyChangeIncomplete(`no key was created: ${reason}`)
      }
      await view.apply(teamId, id, stored).catch((error: Error) => {
        throw new KeyChangeIncomplete(`key ${id} is recorded, but Redis does not have it (${error.message}): delete it`)
      })
      return { plaintext, key: stored }
    },

    list: async (team) => (await view.list(readTeam(team))).sort((a, b) => (a.createdAt < b.createdAt ? -1 : 1)),

    revoke: async ({ team, id, by }) => {
      const teamId = readTeam(team)
      for (let conflicts = 0; conflicts < maxConflicts; conflicts++) {
        const key = await find(teamId, id)
        const revoked = key.state === 'revoked' ? key : revokedOf(key, by, clock())
        const applied = key.state === 'revoked' ? 'applied' : await view.apply(teamId, id as EntityId, revoked)
        if (applied === 'stale') continue
        return await lasting(record(teamId, id as EntityId, revoked), `key ${id} no longer works`)
      }
      throw new KeyChangeIncomplete(`key ${id} changes too often; try again`)
    },

    delete: async ({ team, id }) => {
      const teamId = readTeam(team)
      const keyId = id as EntityId
      if (!(isIdentifier(id) && (await view.wasDeleted(teamId, keyId)))) await find(teamId, id)
      await view.apply(teamId, keyId, null)
      await lasting(record(teamId, keyId, null), `key ${id} no longer works`)
    },
  }
}

const recordOf = ({ revision, ...key }: StoredKey): string => JSON.stringify({ revision, key })

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
    throw new KeyChangeIncomplete(`${done}, but that is not durable yet (${(error as Error).message}): try again`)
  }
}

function readTeam(team: string): TeamId {
  if (!isIdentifier(team)) throw new KeyRefused(`team must be ${identifierRule}`)
  return team as TeamId
}

function readName({ name }: Pick<AccountKey, 'name'>): void {
  const { name: rule } = accountKeySchema.shape
  if (!rule.safeParse(name).success) throw new KeyRefused('name must be 1 to 100 characters')
}

function readExpiry(text: string | undefined, nowMs: number): AccountKey['expiresAt'] {
  if (text === undefined) return null
  const expiresAt = parseInstant(text)
  if (expiresAt === undefined) throw new KeyRefused('expires must be an ISO 8601 date-time with an offset or Z')
  if (Date.parse(expiresAt) <= nowMs) throw new KeyRefused('expires must lie in the future')
  return expiresAt
}
