import type { Client } from '@elastic/elasticsearch'
import type { DocumentId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { type DocumentKind, isList, type PhysicalIndex } from '../../src/core/stores/indices.ts'
import { multiGet } from '../../src/core/stores/multiGet.ts'

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
const keepAlive = '2m'
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

/** The versions of what was written to a shard above one sequence number, up to and including another. */
export async function* writtenVersions(
  elasticsearch: Client,
  index: PhysicalIndex,
  kind: DocumentKind,
  { shard, above, last }: { readonly shard: number; readonly above: number; readonly last: number },
  signal: AbortSignal,
): AsyncGenerator<Version[]> {
  if (last <= above) return
  const options = { signal, requestTimeout: requestTimeoutMs }
  const times = timeFields.map((field) => ({ field, format: 'strict_date_time' }))
  const opened = await elasticsearch.openPointInTime(
    { index, preference: `_shards:${shard}`, keep_alive: keepAlive },
    options,
  )
  let id = opened.id
  try {
    for (let after: unknown[] | undefined; ; ) {
      const answer = await elasticsearch.search(
        {
          pit: { id, keep_alive: keepAlive },
          query: { range: { _seq_no: { gt: above, lte: last } } },
          sort: ['_shard_doc'],
          ...(after !== undefined && { search_after: after as string[] }),
          size: idsPerRequest,
          version: true,
          _source: false,
          docvalue_fields: isList(kind) ? [...times, { field: 'digest' }] : [],
          track_total_hits: false,
          allow_partial_search_results: false,
        },
        options,
      )
      id = answer.pit_id ?? id
      const { hits } = answer.hits
      if (hits.length === 0) return
      yield hits.map((hit) => {
        const [changedAt] = timeFields.flatMap((field): Instant[] => hit.fields?.[field] ?? [])
        const digest = hit.fields?.['digest']?.[0]
        return { id: (hit._id ?? '') as DocumentId, version: hit._version ?? 0, changedAt, digest }
      })
      after = hits.at(-1)?.sort
    }
  } finally {
    await elasticsearch.closePointInTime({ id }).catch(() => undefined)
  }
}
