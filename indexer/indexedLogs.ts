import type { Client, estypes } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition, offsetOf } from '../src/core/model/logPosition.ts'
import type { Generation } from './generations/generation.ts'
import type { LogPrefix, LogState } from './readLog.ts'

/**
 * The states of the logs from which the documents of a generation were made, by `partitionName`: the highest position of each partition, and the append time
 * of its record. They are needed where commits and Redis have no state. Example: an operator deletes a topic, with which Kafka deletes its commits, and
 * Redis loses its data at the same time. When the topic is created again, only the documents show that they were made from another log: they have
 * positions that the new log has not reached.
 */
export async function readIndexedLogs(
  elasticsearch: Client,
  { indices, hasCarriedOver }: Pick<Generation, 'indices' | 'hasCarriedOver'>,
  partitions: readonly (TopicPartition & { readonly type: EntityType })[],
  options: RequestOptions,
): Promise<ReadonlyMap<string, LogState>> {
  const logs = new Map<string, LogState>()
  for (const { type, topic, partition } of partitions) {
    const first = logPosition({ partition, offset: 0n })
    // Documents that a rebuild has carried over from a replaced log have position 0, which is also that of partition 0, offset 0.
    const from = first === 0 && hasCarriedOver[type] ? { gt: first } : { gte: first }
    const response = await elasticsearch.search(
      {
        index: indices[type],
        // A shard may have no copy for long: the indexer starts without its documents. An older position is a prefix of the log, too.
        allow_partial_search_results: true,
        query: { range: { logPosition: { ...from, lt: endOfPositions(partition) } } },
        // An index that somebody has made with other mappings, without positions, has no such document.
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

type Newest = Pick<estypes.SearchHit, 'fields' | 'sort'>

/**
 * The prefix of a log that ends with the record of a list document. Its append time stands for the latest one of the prefix. If the clock of a new leader was
 * behind, an earlier record may have a later append time: then the log counts as replaced, and a needless rebuild follows. But no replaced log is missed.
 */
function prefixUpTo({ fields = {}, sort: [position] = [] }: Newest): LogPrefix {
  const [appendedAt] = (fields['changedAt'] ?? fields['tombstone.deletedAt'] ?? []) as readonly string[]
  const latestMs = appendedAt === undefined ? Infinity : Date.parse(appendedAt)
  return { below: offsetOf(Number(position) as LogPosition) + 1n, latestMs }
}
