import type { Client, estypes } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition, offsetOf } from '../src/core/model/logPosition.ts'
import type { Generation } from './generations/generation.ts'
import type { LogPrefix, LogState } from './logReplacement.ts'

/**
 * Reads, from the documents of a generation, the states of their logs, by `partitionName`: the highest position of each partition, and the append time of its
 * record. Needed where commits and Redis have no state. Example: an operator deletes a topic, and with it its commits; Redis loses its data. The topic is
 * created again. Only the positions of the documents, which are above its end, show that it is another log.
 */
export async function readLogStatesOfDocuments(
  elasticsearch: Client,
  { indices, hasCarriedOver }: Pick<Generation, 'indices' | 'hasCarriedOver'>,
  partitions: readonly (TopicPartition & { readonly type: EntityType })[],
  options: RequestOptions,
): Promise<ReadonlyMap<string, LogState>> {
  const logs = new Map<string, LogState>()
  for (const { type, topic, partition } of partitions) {
    const first = logPosition({ partition, offset: 0n })
    // Documents that were carried over from a replaced log have position 0, like the record at partition 0, offset 0.
    const from = first === 0 && hasCarriedOver[type] ? { gt: first } : { gte: first }
    const response = await elasticsearch.search(
      {
        index: indices[type],
        // Without the documents of a shard that has no copy, the prefix is shorter, and true nevertheless.
        allow_partial_search_results: true,
        query: { range: { logPosition: { ...from, lt: endOfPositions(partition) } } },
        // An index without the field `logPosition`, made by somebody else, has no such document.
        sort: [{ logPosition: { order: 'desc', unmapped_type: 'long' } }],
        size: 1,
        track_total_hits: false,
        _source: false,
        docvalue_fields: [{ field: 'changedAt' }, { field: 'tombstone.deletedAt' }],
      },
      options,
    )
    const [newest] = response.hits.hits
    if (newest === undefined) continue
    logs.set(partitionName({ topic, partition }), { isReplaced: false, prefixes: [prefixUpTo(newest)] })
  }
  return logs
}

type NewestHit = Pick<estypes.SearchHit, 'fields' | 'sort'>

/**
 * The prefix that ends with the record of a list document. If the clock of an earlier leader was ahead, an earlier record has a later append time: then the log
 * counts as replaced, and a needless rebuild follows.
 */
function prefixUpTo({ fields = {}, sort: [position] = [] }: NewestHit): LogPrefix {
  const [appendedAt] = (fields['changedAt'] ?? fields['tombstone.deletedAt'] ?? []) as readonly string[]
  const latestMs = appendedAt === undefined ? Infinity : Date.parse(appendedAt)
  return { below: offsetOf(Number(position) as LogPosition) + 1n, latestMs }
}
