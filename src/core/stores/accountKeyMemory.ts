import type { Message } from 'kafkajs'
import { readKey } from '../model/change.ts'
import { type Digest, documentId, type EntityId, type TeamId } from '../model/ids.ts'
import type { Claim, Place, StoredKey } from './accountKeyStore.ts'

/**
 * What the key view knows and compaction can take from `account-keys`: it keeps the last record of a key there, which need not be
 * the one that counts. The memory is a compacted topic of its own, where nothing is ever written that contradicts an earlier
 * record of the same record key:
 *
 * | record key | value | told when |
 * |---|---|---|
 * | `deleted/<teamId>/<keyId>` | `{}` | a key is deleted |
 * | `claim/<digest>/<teamId>/<keyId>` | `{"place"}` | several live keys have one digest |
 * | `newest/<teamId>/<keyId>` | the key's newest record | an older record is appended after it |
 */
export type Memory =
  | { readonly kind: 'deleted'; readonly teamId: TeamId; readonly keyId: EntityId }
  | ({ readonly kind: 'claim' } & Claim)
  | { readonly kind: 'newest'; readonly teamId: TeamId; readonly keyId: EntityId; readonly value: Buffer }

/** Nothing that a person wrote is remembered of a deleted key. */
export const deletedMessages = (teamId: TeamId, keyId: EntityId): Message[] => [
  { key: `deleted/${documentId(teamId, keyId)}`, value: '{}' },
  { key: `newest/${documentId(teamId, keyId)}`, value: null },
]

export const claimMessage = ({ teamId, keyId, digest, place }: Claim): Message => ({
  key: `claim/${digest}/${documentId(teamId, keyId)}`,
  value: JSON.stringify({ place }),
})

export const newestMessage = (teamId: TeamId, keyId: EntityId, newest: StoredKey): Message => ({
  key: `newest/${documentId(teamId, keyId)}`,
  value: keyRecord(newest),
})

/** The value of a key's own record. */
export const keyRecord = ({ revision, ...key }: StoredKey): string => JSON.stringify({ revision, key })

/** Undefined for anything else. */
export function readMemory({ key, value }: { key: Buffer | null; value: Buffer | null }): Memory | undefined {
  const [, kind, digest, name = ''] =
    /^(deleted|claim|newest)\/(?:([0-9a-f]{64})\/)?([^/]+\/[^/]+)$/.exec(`${key}`) ?? []
  const read = readKey(Buffer.from(name))
  if (!read.ok || value === null) return undefined
  const { teamId, entityId: keyId } = read.value
  if (kind === 'deleted') return { kind, teamId, keyId }
  if (kind === 'newest') return { kind, teamId, keyId, value }
  if (kind !== 'claim' || digest === undefined) return undefined
  const { place } = JSON.parse(String(value)) as { place: Place }
  return { kind, teamId, keyId, digest: digest as Digest, place }
}
