import type { Client, estypes } from '@elastic/elasticsearch'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition, offsetOf } from '../src/core/model/logPosition.ts'
import type { RequestOptions } from '../src/core/stores/elasticsearch.ts'
import type { Generation } from './generations/generation.ts'
import type { LogPrefix, LogState } from './readLog.ts'

/**
 * Reads from the documents of a generation which logs they were made from, by `partitionName`: the newest position of each partition, and the time of
 * its record. It serves partitions without a commit that Redis does not know. Example: an operator deletes a topic, and Kafka all commits for it; Redis
 * loses its data at the same time; the topic is made anew. The documents have positions that the new log has not reached.
 */
export async function readIndexedLogs(
  elasticsearch: Client,
  { indices, hasCarriedOver }: Pick<Generation, 'indices' | 'hasCarriedOver'>,
  partitions: readonly (TopicPartition & { readonly type: EntityType })[],
  options: RequestOptions,
): Promise<ReadonlyMap<string, LogState>> {
  const logs = new Map<string, LogState>()
  for (const { type, ...of } of partitions) {
    const first = logPosition({ partition: of.partition, offset: 0n })
    // Documents that were carried over from another log are at position 0.
    const from = first === 0 && hasCarriedOver[type] ? { gt: first } : { gte: first }
    const asked = {
      query: { range: { logPosition: { ...from, lt: endOfPositions(of.partition) } } },
      sort: [{ logPosition: 'desc' as const }],
      size: 1,
      track_total_hits: false,
      _source: false,
      docvalue_fields: [{ field: 'changedAt' }, { field: 'tombstone.deletedAt' }],
    }
    const found = await elasticsearch.search(
      { index: indices[type], allow_partial_search_results: false, ...asked },
      options,
    )
    const [newest] = found.hits.hits
    if (newest !== undefined) logs.set(partitionName(of), { isReplaced: false, prefixes: [prefixUpTo(newest)] })
  }
  return logs
}

type Newest = Pick<estypes.SearchHit, 'fields' | 'sort'>

/**
 * The prefix of a log that ends with the record of a list document. Where the clock of a new leader was behind, an earlier record may have a later time,
 * and the log counts as replaced: a rebuild too many, rather than a log too few that is noticed.
 */
function prefixUpTo({ fields = {}, sort: [position] = [] }: Newest): LogPrefix {
  const [appendedAt] = (fields['changedAt'] ?? fields['tombstone.deletedAt'] ?? []) as readonly string[]
  const latestMs = appendedAt === undefined ? Infinity : Date.parse(appendedAt)
  return { below: offsetOf(Number(position) as LogPosition) + 1n, latestMs }
}
