import type { Client } from '@elastic/elasticsearch'
import type { DocumentId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { type DocumentKind, isList, type PhysicalIndex } from '../../src/core/stores/indices.ts'
import { multiGet, scan } from '../../src/core/stores/readDocuments.ts'

/** A document as generations are compared by. All but id and version are of list documents alone. */
export type Version = {
  readonly id: DocumentId
  /** 0 for a document that is not there. */
  readonly version: number
  /** An ISO instant; of a tombstone the instant of deletion. */
  readonly changedAt?: Instant | undefined
  /** Of what its record says; undefined for a tombstone. */
  readonly digest?: string | undefined
}

/** Where a list document has the time of its change: members of its source and fields of its index. */
const timeFields = ['changedAt', 'tombstone.deletedAt']
type ListSource = {
  readonly changedAt?: Instant
  readonly tombstone?: { readonly deletedAt?: Instant }
  readonly digest?: string
}

export const requestTimeoutMs = 60_000
const idsPerRequest = 2_000

/** The versions of documents as they are stored now, in the order of `ids`. `raw` returns bytes. */
export async function readVersions(
  raw: Client,
  index: PhysicalIndex,
  kind: DocumentKind,
  ids: readonly DocumentId[],
  signal: AbortSignal,
): Promise<Version[]> {
  const members = isList(kind) ? [...timeFields, 'digest'] : []
  const found = await multiGet(raw, index, ids, members, { signal, requestTimeout: requestTimeoutMs })
  return ids.map((id, at) => {
    const { version = 0, source = '' } = found[at] ?? {}
    const { changedAt, tombstone, digest } = (source === '' ? {} : JSON.parse(source)) as ListSource
    return { id, version, changedAt: changedAt ?? tombstone?.deletedAt, digest }
  })
}

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

/** The versions of what was written to a shard above one sequence number, up to and including another. `raw` returns bytes. */
export async function* writtenVersions(
  raw: Client,
  index: PhysicalIndex,
  kind: DocumentKind,
  { shard, above, last }: { readonly shard: number; readonly above: number; readonly last: number },
  signal: AbortSignal,
): AsyncGenerator<Version[]> {
  if (last <= above) return
  const times = timeFields.map((field) => ({ field, format: 'strict_date_time' }))
  const asked = {
    query: { range: { _seq_no: { gt: above, lte: last } } },
    preference: `_shards:${shard}`,
    size: idsPerRequest,
    _source: false,
    docvalue_fields: isList(kind) ? [...times, { field: 'digest' }] : [],
  }
  for await (const part of scan(raw, index, asked, { signal, requestTimeout: requestTimeoutMs }))
    yield part.map(({ id, version, fields }) => {
      const values = (fields === '' ? {} : JSON.parse(fields)) as Readonly<Record<string, readonly string[]>>
      const [changedAt] = timeFields.flatMap((field) => values[field] ?? []) as Instant[]
      return { id, version, changedAt, digest: values['digest']?.[0] }
    })
}
