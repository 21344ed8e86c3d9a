import { hkdfSync } from 'node:crypto'
import { accountKeySchema, digestOf, plaintextFrom, startOf } from '../core/model/accountKey.ts'
import { identifierRule, isIdentifier, type Revision, type TeamId } from '../core/model/ids.ts'
import { type Instant, instantRule, parseInstant, toInstant } from '../core/model/instant.ts'
import type { StoredKey } from '../core/stores/accountKeyStore.ts'

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
export type CreateKeyRequest = {
  readonly team: string
  readonly name: string
  readonly by: string
  readonly expires?: string | undefined
  readonly seed?: Uint8Array | undefined
}

export type CreatedKey = { readonly plaintext: string; readonly key: StoredKey }

const idBytes = 12
const plaintextBytes = 32

/** The key that a request describes. Throws `KeyRefused` for an expiry or a name that breaks its rule. */
export function newKey({ name, by, expires }: CreateKeyRequest, seed: Uint8Array, nowMs: number): CreatedKey {
  // HKDF: neither id nor plaintext can be computed from the other, only from the seed.
  const derive = (use: string, bytes: number): Buffer => Buffer.from(hkdfSync('sha256', seed, '', use, bytes))
  const plaintext = plaintextFrom(derive('account key', plaintextBytes))
  const key: StoredKey = {
    id: `key_${derive('account key id', idBytes).toString('base64url')}`,
    name: name.toWellFormed(),
    digest: digestOf(plaintext),
    start: startOf(plaintext),
    state: 'active',
    createdAt: toInstant(nowMs),
    createdBy: by.toWellFormed(),
    expiresAt: readExpiry(expires, nowMs),
    revision: 1 as Revision,
  }
  if (!accountKeySchema.shape.name.safeParse(key.name).success)
    throw new KeyRefused('name', 'name must be 1 to 100 characters')
  return { key, plaintext }
}

function readExpiry(text: string | undefined, nowMs: number): Instant | null {
  if (text === undefined) return null
  const expiresAt = parseInstant(text)
  if (expiresAt === undefined) throw new KeyRefused('expires', `expires must be ${instantRule}`)
  if (Date.parse(expiresAt) <= nowMs) throw new KeyRefused('expires', 'expires must lie in the future')
  return expiresAt
}

export const revokedKey = (key: StoredKey, by: string, nowMs: number): StoredKey => ({
  ...key,
  state: 'revoked',
  revokedAt: toInstant(nowMs),
  revokedBy: by.toWellFormed(),
  revision: (key.revision + 1) as Revision,
})

/** The team id that a text is. Throws `KeyRefused` if it is none. */
export function readTeam(team: string): TeamId {
  if (!isIdentifier(team)) throw new KeyRefused('team', `team must be ${identifierRule}`)
  return team as TeamId
}
