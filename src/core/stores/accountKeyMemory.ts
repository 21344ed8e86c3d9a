import { type Digest, documentId, type EntityId, type TeamId } from '../model/ids.ts'
import { readKey } from '../model/record.ts'
import type { AppendPosition, Claim, StoredKey } from './accountKeyStore.ts'
import type { NewRecord } from './kafkaSink.ts'
import type { SourceRecord } from './sourceRecord.ts'

/**
 * A record of the memory topic (`TOPIC_KEY_MEMORY`). The topic keeps what a replay needs and compaction may remove from
 * `account-keys`: compaction keeps the last record of a key, and an earlier record may be the one that counts. The memory topic is
 * compacted, too, but no record in it ever contradicts an earlier one with the same record key:
 *
 * | record key | value | written when |
 * |---|---|---|
 * | `deleted/<teamId>/<keyId>` | `{}` | a key is deleted |
 * | `claim/<digest>/<teamId>/<keyId>` | `{"place"}` | several live keys have one digest |
 * | `newest/<teamId>/<keyId>` | the key's newest record | an older record is appended after it |
 */
type MemoryRecord =
  | { readonly kind: 'deleted'; readonly teamId: TeamId; readonly keyId: EntityId }
  | ({ readonly kind: 'claim' } & Claim)
  | { readonly kind: 'newest'; readonly teamId: TeamId; readonly keyId: EntityId; readonly value: Buffer }

/** The records for a deleted key. They erase everything that a person wrote. */
export const deletedRecords = (topic: string, teamId: TeamId, keyId: EntityId): NewRecord[] => [
  { topic, key: `deleted/${documentId(teamId, keyId)}`, value: '{}' },
  { topic, key: `newest/${documentId(teamId, keyId)}`, value: null },
]

export const claimRecord = (topic: string, { teamId, keyId, digest, position }: Claim): NewRecord => ({
  topic,
  key: `claim/${digest}/${documentId(teamId, keyId)}`,
  value: JSON.stringify({ place: position }),
})

export const newestRecord = (topic: string, teamId: TeamId, keyId: EntityId, newest: StoredKey): NewRecord => ({
  topic,
  key: `newest/${documentId(teamId, keyId)}`,
  value: keyRecord(newest),
})

/** The value of a key's record in `account-keys`. */
export const keyRecord = ({ revision, ...key }: StoredKey): string => JSON.stringify({ revision, key })

/** Reads a record of the memory topic; undefined for a record of another format. */
export function readMemoryRecord({ key, value }: Pick<SourceRecord, 'key' | 'value'>): MemoryRecord | undefined {
  const [, kind, digest, name = ''] =
    /^(deleted|claim|newest)\/(?:([0-9a-f]{64})\/)?([^/]+\/[^/]+)$/.exec(`${key}`) ?? []
  const read = readKey(Buffer.from(name))
  if (!read.ok || value === null) return undefined
  const { teamId, entityId: keyId } = read.value
  if (kind === 'deleted') return { kind, teamId, keyId }
  if (kind === 'newest') return { kind, teamId, keyId, value }
  if (kind !== 'claim' || digest === undefined) return undefined
  const { place } = JSON.parse(String(value)) as { place: AppendPosition }
  return { kind, teamId, keyId, digest: digest as Digest, position: place }
}
