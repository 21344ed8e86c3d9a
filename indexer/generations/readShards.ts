import type { Client, estypes } from '@elastic/elasticsearch'
import type { RequestOptions } from '../../src/core/elasticsearch/elasticsearch.ts'
import type { DocumentKind, PhysicalIndex } from '../../src/core/elasticsearch/indices.ts'
import type { Generation } from './generation.ts'

/** Elasticsearch numbers the writes to a shard: 0, 1, … (sequence numbers). */
export type Shard = {
  readonly kind: DocumentKind
  readonly index: PhysicalIndex
  readonly number: string
  /** `<index>/<number>` */
  readonly name: string
  /** The highest sequence number of a write that the primary has started, acknowledged or not. */
  readonly lastStarted: number
  /** The sequence number up to which every copy has every write. */
  readonly lastOnEveryCopy: number
}

type GenerationShards = {
  readonly shards: readonly Shard[]
  readonly documentCount: number
}

/** Rejects if a shard has no primary, or if a node with copies does not answer. */
export async function readShards(
  elasticsearch: Client,
  generation: Pick<Generation, 'indices' | 'shards'>,
  options: RequestOptions,
): Promise<GenerationShards> {
  const index = Object.values(generation.indices)
  const { indices = {}, _shards: answers } = await elasticsearch.indices.stats({ index, level: 'shards' }, options)
  const described = Object.entries(generation.indices).flatMap(([kind, name]) =>
    Object.entries(indices[name]?.shards ?? {}).map(([number, copies]) => ({ kind, index: name, number, copies })),
  )
  // Elasticsearch answers 200 without the copies of a node that does not answer. They may lack writes, and still answer searches.
  if (described.length !== generation.shards || answers.failed > 0)
    throw new Error(
      `Elasticsearch answers for ${described.length} of ${generation.shards} shards, and not for ${answers.failed} copies: run the rebuild again`,
    )
  const shards = described.map(({ kind, index: name, number, copies }): Shard => {
    const primary = copies.find(({ routing }) => routing?.primary)?.seq_no
    if (primary === undefined) throw new Error(`shard ${number} of ${name} has no primary`)
    return {
      kind: kind as DocumentKind,
      index: name,
      number,
      name: `${name}/${number}`,
      lastStarted: primary.max_seq_no,
      lastOnEveryCopy: lastOnEveryCopy(primary, copies.length),
    }
  })
  const counts = index.map((name) => indices[name]?.primaries?.docs?.count ?? 0)
  return { shards, documentCount: counts.reduce((sum, count) => sum + count, 0) }
}

function lastOnEveryCopy(primary: estypes.IndicesStatsShardSequenceNumber, copyCount: number): number {
  const { local_checkpoint: local, global_checkpoint: global } = primary
  // If only the primary is left, its global checkpoint may be too low until the next write.
  return copyCount === 1 ? local : Math.min(local, global)
}
