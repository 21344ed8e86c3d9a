import type { Client } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition, offsetOf } from '../src/core/model/logPosition.ts'
import type { Generation } from './generations/generation.ts'
import type { LogState } from './logReplacement.ts'

type MaxTimes = Record<'changedAt' | 'deletedAt', { readonly value: number | null }>

/**
 * Reads, from the documents of a generation, the states of their logs, by `partitionName`: the highest position of each partition, and the latest append time of
 * its records. Needed where commits and Redis have no state. Example: an operator deletes a topic, and with it its commits; Redis loses its data. The topic is
 * created again. Only the positions of the documents, which are above its end, show that it is another log.
 *
 * A document has the append time of its newest record only. Example: the clock of a broker goes back by a minute, and `a`, whose record had the latest append
 * time, changes again. Then the log has a record that was appended later than any document says, counts as replaced, and a needless rebuild follows.
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
    const response = await elasticsearch.search<unknown, MaxTimes>(
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
        // Not the time of the newest document: after the clock of a broker went back, an earlier record has a later one.
        aggs: { changedAt: { max: { field: 'changedAt' } }, deletedAt: { max: { field: 'tombstone.deletedAt' } } },
      },
      options,
    )
    const [position] = response.hits.hits[0]?.sort ?? []
    if (position === undefined) continue
    const below = offsetOf(Number(position) as LogPosition) + 1n
    const timesMs = [response.aggregations?.changedAt?.value, response.aggregations?.deletedAt?.value]
    const knownTimesMs = timesMs.filter((timeMs) => typeof timeMs === 'number')
    const latestMs = knownTimesMs.length === 0 ? Infinity : Math.max(...knownTimesMs)
    logs.set(partitionName({ topic, partition }), { isReplaced: false, prefixes: [{ below, latestMs }] })
  }
  return logs
}
