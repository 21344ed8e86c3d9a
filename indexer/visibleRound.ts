import type { Config } from '../src/core/config/config.ts'
import type { PublishedRound } from '../src/core/redis/visiblePositions.ts'
import type { Generation } from './generations/generation.ts'
import { documentTopics, entityTypeIn } from './topics.ts'
import type { VisibleRound } from './visibilityPublisher.ts'

/** What a round publishes of a generation: partitions by entity type, without those of account keys. */
export function visibleRound(
  config: Config,
  { tag, indices, cursorKeys }: Pick<Generation, 'tag' | 'indices' | 'cursorKeys'>,
  { lists, changesEveryList, partitions, known }: VisibleRound,
  mayLackDeletions: boolean,
): PublishedRound {
  const documents = documentTopics(config)
  const countOf = (topic: string): number => [...known.values()].filter((each) => each.topic === topic).length
  return {
    ...{ generation: tag, indices, cursorKeys, lists, changesEveryList, mayLackDeletions },
    partitionCounts: { forms: countOf(config.TOPIC_FORMS), submissions: countOf(config.TOPIC_SUBMISSIONS) },
    partitions: partitions.flatMap(({ topic, ...of }) =>
      documents.includes(topic) ? [{ ...of, type: entityTypeIn(topic, config) }] : [],
    ),
  }
}

/** A round that promises no time. */
export const withoutTimes = (round: VisibleRound): VisibleRound => ({
  ...round,
  partitions: round.partitions.map((each) => ({ ...each, timeMs: 0 })),
})
