import { createHash } from 'node:crypto'
import type { Client } from '@elastic/elasticsearch'
import type { DocumentId, TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { entityTypes } from '../../src/core/model/teamList.ts'
import { type DocumentKind, documentKinds, type PhysicalIndex } from '../../src/core/stores/indices.ts'

/** A document as generations are compared by. All but id and version are of list documents alone. */
export type Version = {
  readonly id: DocumentId
  readonly version: number
  /** An ISO instant; of a tombstone the instant of deletion. */
  readonly changedAt?: Instant | undefined
  /** Of what its record says; undefined for a tombstone. */
  readonly digest?: string | undefined
}

/** Where a list document has the time of its change: members of its source and fields of its index. */
export const timeFields = ['changedAt', 'tombstone.deletedAt']
/** Of the source of a list document, what generations are compared by. */
export const listMembers = [...timeFields, 'digest']
export type ListSource = {
  readonly changedAt?: Instant
  readonly tombstone?: { readonly deletedAt?: Instant }
  readonly digest?: string
}

export const isList = (kind: DocumentKind): boolean => entityTypes.some((type) => type === kind)

/** The kinds of an entity's documents, by that of its list document. */
export const kindsOf = (list: DocumentKind): DocumentKind[] =>
  documentKinds.filter((kind) => kind === list || kind === `${list.slice(0, -1)}-details`)

export const teamOf = (id: string): TeamId => id.slice(0, id.indexOf('/')) as TeamId

const checksumBytes = 6

/** Adds a document to a checksum that does not depend on their order. */
export const addFingerprint = (sum: number, { id, version }: Version): number =>
  (sum + createHash('sha256').update(`${id} ${version}`).digest().readUIntBE(0, checksumBytes)) %
  2 ** (8 * checksumBytes)

/** How long one request to Elasticsearch may take while generations are compared. */
export const requestTimeoutMs = 60_000

/** The shards of an index, each with its highest sequence number. */
export async function shardsOf(
  elasticsearch: Client,
  index: PhysicalIndex,
  signal: AbortSignal,
): Promise<{ shard: number; last: number }[]> {
  const stats = await elasticsearch.indices.stats(
    { index, level: 'shards' },
    { signal, requestTimeout: requestTimeoutMs },
  )
  const shards = Object.entries(stats.indices?.[index]?.shards ?? {})
  if (shards.length === 0) throw new Error(`${index} has no shard statistics`)
  return shards.map(([shard, copies]) => {
    const last = copies.find(({ routing }) => routing?.primary)?.seq_no?.max_seq_no
    if (last === undefined) throw new Error(`shard ${shard} of ${index} has no primary`)
    return { shard: Number(shard), last }
  })
}

export const idOf = ({ id }: Version): DocumentId => id

/** What a search asks for of each document of a kind. */
export const fieldsOf = (kind: DocumentKind): { field: string; format?: string }[] =>
  isList(kind) ? [...timeFields.map((field) => ({ field, format: 'strict_date_time' })), { field: 'digest' }] : []
