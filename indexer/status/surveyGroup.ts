import type { Config } from '../../src/core/config/config.ts'
import type { DescribedMember, KafkaSource, OffsetRanges } from '../../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import { notCovered } from '../deletionCoverage.ts'
import { readTag } from '../generations/generation.ts'
import { type CommittedOffset, fetchCommittedOffsets, rebuildGroup } from '../startOffsets.ts'
import { documentTopics, sourceTopics } from '../topics.ts'

export type SurveyedPartition = TopicPartition & {
  readonly position: bigint
  readonly behindRecords: number
  /** Undefined if no indexer owns it. */
  readonly owner: string | undefined
  /** As committed (epoch ms). */
  readonly coveredUntilMs: number | undefined
  /** As committed: the present log is another one than the indices were read from. */
  readonly isReplaced: boolean
  /** As committed: Kafka may have removed deletions before they were read. */
  readonly mayLackDeletions: boolean
}

export type GroupSurvey = {
  readonly partitions: readonly SurveyedPartition[]
  readonly indexers: readonly Pick<DescribedMember, 'id' | 'host'>[]
  readonly deadLetters: number
  /** A rebuild that reads, or was left unfinished. `members`: its reading processes; `progress`: the part of the records that was processed, 0 to 1. */
  readonly rebuild: { readonly isRunning: boolean; readonly members: number; readonly progress: number } | undefined
}

export const recordsBehind = (partitions: readonly Pick<SurveyedPartition, 'behindRecords'>[]): number =>
  partitions.reduce((sum, { behindRecords }) => sum + behindRecords, 0)

/** `serving`: the number of the generation that the indexers write. */
export async function surveyGroup(source: KafkaSource, config: Config, serving: number): Promise<GroupSurvey> {
  const { CONSUMER_GROUP: groupId, TOPIC_DEAD_LETTERS: deadLetters } = config
  const rebuildGroupId = rebuildGroup(groupId)
  const [ends, commits, rebuilt, letters, members, rebuilding] = await Promise.all([
    source.offsetRanges(sourceTopics(config)),
    fetchCommittedOffsets(source, groupId, sourceTopics(config)),
    fetchCommittedOffsets(source, rebuildGroupId, documentTopics(config)),
    source.offsetRanges([deadLetters]),
    source.groupMembers(groupId),
    source.groupMembers(rebuildGroupId),
  ])
  const owners = new Map(
    members.flatMap(({ id, partitions }) => partitions.map((partition) => [partitionName(partition), id] as const)),
  )
  // Other commits are from a rebuild that has ended.
  const commitsOfRebuild = [...rebuilt].filter(([, { generation }]) => (readTag(generation)?.number ?? 0) > serving)
  const isRunning = rebuilding.length > 0
  const progress = progressOf(commitsOfRebuild, ends, config)
  return {
    partitions: [...ends].map(([name, { topic, partition, low, high }]) => {
      const commit = commits.get(name)
      const position: bigint = commit?.position ?? low
      return {
        ...{ topic, partition, position, owner: owners.get(name) },
        behindRecords: Math.max(0, Number(high - position)),
        coveredUntilMs: commit?.coveredUntilMs || undefined,
        isReplaced: commit?.log.isReplaced ?? false,
        // A replay finds the deletion of an account key, without an operator.
        mayLackDeletions: commit?.coveredUntilMs === notCovered && documentTopics(config).includes(topic),
      }
    }),
    indexers: members.map(({ id, host }) => ({ id, host })),
    deadLetters: [...letters.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0),
    rebuild: isRunning || commitsOfRebuild.length > 0 ? { isRunning, members: rebuilding.length, progress } : undefined,
  }
}

function progressOf(
  commits: readonly (readonly [string, CommittedOffset])[],
  ends: OffsetRanges,
  config: Config,
): number {
  const documents = [...ends.values()].filter(({ topic }) => documentTopics(config).includes(topic))
  const total = documents.reduce((sum, { low, high }) => sum + Number(high - low), 0)
  const readRecords = commits.map(([name, { position }]) =>
    Math.max(0, Number(position - (ends.get(name)?.low ?? position))),
  )
  return total === 0 ? 1 : Math.min(1, readRecords.reduce((sum, records) => sum + records, 0) / total)
}
