import type { Config } from '../src/core/config/config.ts'
import type { PublishedRound } from '../src/core/redis/visiblePositions.ts'
import type { Generation } from './generations/generation.ts'
import type { VisibleRound } from './progressPublisher.ts'
import { documentTopics, entityTypeIn } from './topics.ts'

/** The round of a generation as Redis stores it: by entity type instead of topic, without `account-keys`. */
export function roundForRedis(
  config: Config,
  { tag, indices, cursorKeys }: Pick<Generation, 'tag' | 'indices' | 'cursorKeys'>,
  { lists, changesEveryList, partitions, ranges }: VisibleRound,
  mayLackDeletions: boolean,
): PublishedRound {
  const documents = documentTopics(config)
  const countOf = (topic: string): number =>
    [...ranges.values()].filter((partition) => partition.topic === topic).length
  return {
    generation: tag,
    indices,
    cursorKeys,
    lists,
    changesEveryList,
    mayLackDeletions,
    partitionCounts: { forms: countOf(config.TOPIC_FORMS), submissions: countOf(config.TOPIC_SUBMISSIONS) },
    partitions: partitions.flatMap(({ topic, ...partition }) =>
      documents.includes(topic) ? [{ ...partition, type: entityTypeIn(topic, config) }] : [],
    ),
  }
}

/** The round with time 0 for each partition, which removes the watermark. */
export const withoutTimes = (round: VisibleRound): VisibleRound => ({
  ...round,
  partitions: round.partitions.map((partition) => ({ ...partition, timeMs: 0 })),
})
