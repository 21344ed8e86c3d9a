import type { Client } from '@elastic/elasticsearch'
import type { RequestOptions } from '../src/core/elasticsearch/elasticsearch.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import { endOfPositions, type LogPosition, logPosition, offsetOf } from '../src/core/model/logPosition.ts'
import { carriedOver } from './convertRecord.ts'
import type { Generation } from './generations/generation.ts'
import type { LogState } from './logReplacement.ts'

/** Epoch ms; null if no document has such a time. */
type MaxTimes = Record<'changedAt' | 'deletedAt', { readonly value: number | null }>

/**
 * Reads the `LogState` of partitions from the documents of a generation: their highest position, and their latest append time. Needed where commits and Redis
 * have no state: an operator has deleted a topic, and with it its commits, and Redis has lost its data. When the topic is created again, only the documents,
 * with positions above its end, show that it is another log.
 *
 * A document has the append time of its newest record only. So a rebuild may be started without need:
 * 1. The record of `a` has the latest append time of the log. The clock of its broker goes back by a minute, and `a` changes again.
 * 2. Now the log has a record that was appended later than any document states, and counts as replaced.
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
    // `carriedOver` documents have position 0, like the record at partition 0, offset 0.
    const isFirstShared = first === carriedOver && hasCarriedOver[type]
    const lowerBound = isFirstShared ? { gt: first } : { gte: first }
    const response = await elasticsearch.search<unknown, MaxTimes>(
      {
        index: indices[type],
        // Without the documents of a missing shard, fewer records are compared, and none of another log.
        allow_partial_search_results: true,
        query: { range: { logPosition: { ...lowerBound, lt: endOfPositions(partition) } } },
        // Otherwise an index of another program, which lacks the field, would answer with an error.
        sort: [{ logPosition: { order: 'desc', unmapped_type: 'long' } }],
        size: 1,
        track_total_hits: false,
        _source: false,
        // Not the newest document's time: after a broker's clock went back, an earlier record may have a later time.
        aggs: { changedAt: { max: { field: 'changedAt' } }, deletedAt: { max: { field: 'tombstone.deletedAt' } } },
      },
      options,
    )
    const [highestPosition] = response.hits.hits[0]?.sort ?? []
    if (highestPosition === undefined) continue
    const below = offsetOf(Number(highestPosition) as LogPosition) + 1n
    const timesMs = [response.aggregations?.changedAt?.value, response.aggregations?.deletedAt?.value]
    const knownTimesMs = timesMs.filter((timeMs) => typeof timeMs === 'number')
    // Without a known time, only a lower end shows that the log was replaced.
    const latestMs = knownTimesMs.length === 0 ? Infinity : Math.max(...knownTimesMs)
    logs.set(partitionName({ topic, partition }), { isReplaced: false, prefixes: [{ below, latestMs }] })
  }
  return logs
}
