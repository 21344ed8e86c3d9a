import type { Config } from '../src/core/config/config.ts'
import type { OffsetRanges } from '../src/core/kafka/source.ts'
import type { TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { PublishedPartition, PublishedRound } from '../src/core/redis/visiblePositions.ts'
import type { Generation } from './generations/generation.ts'
import { documentTopics, entityTypeIn } from './topics.ts'

/**
 * What a round publishes: the new positions of `partitions`, and the lists that get new versions (`changesEveryList`: all lists). `ranges`: of every partition,
 * also of those that other indexers own.
 */
export type VisibleRound = Pick<PublishedRound, 'lists' | 'changesEveryList'> & {
  readonly partitions: readonly (TopicPartition & Omit<PublishedPartition, 'type'>)[]
  readonly ranges: OffsetRanges
}

/**
 * Converts a round of `ProgressPublisher` for Redis, without `account-keys`. `mayLackDeletions`: no watermark and no change feed, since Kafka may have removed
 * unread deletions.
 */
export function roundForRedis(
  config: Config,
  generation: Pick<Generation, 'tag' | 'indices' | 'cursorKeys'>,
  round: VisibleRound,
  mayLackDeletions: boolean,
): PublishedRound {
  const countOf = (topic: string): number =>
    [...round.ranges.values()].filter((partition) => partition.topic === topic).length
  return {
    generation: generation.tag,
    indices: generation.indices,
    cursorKeys: generation.cursorKeys,
    lists: round.lists,
    changesEveryList: round.changesEveryList,
    mayLackDeletions,
    partitionCounts: { forms: countOf(config.TOPIC_FORMS), submissions: countOf(config.TOPIC_SUBMISSIONS) },
    partitions: round.partitions.flatMap(({ topic, ...partition }) =>
      documentTopics(config).includes(topic) ? [{ ...partition, type: entityTypeIn(topic, config) }] : [],
    ),
  }
}

/** Redis then publishes positions, but no watermark. Time 0 stands for no time. */
export const withoutTimes = (round: VisibleRound): VisibleRound => ({
  ...round,
  partitions: round.partitions.map((partition) => ({ ...partition, timeMs: 0 })),
})
