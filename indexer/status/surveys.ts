import type { Client } from '@elastic/elasticsearch'
import type { KafkaSource } from '../../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../../src/core/kafka/sourceRecord.ts'
import type { Config } from '../../src/core/process/config.ts'
import { aliasOf, documentKinds, readPhysicalName } from '../../src/core/stores/indices.ts'
import { type CommittedOffset, fetchCommittedOffsets, rebuildGroup } from '../committedOffsets.ts'
import { readTag } from '../generations/generations.ts'
import { documentTopics, sourceTopics } from '../topics.ts'

/** How far a partition is processed, whichever indexer owns it. */
export type PartitionSurvey = TopicPartition & {
  /** The committed offset: the first that is not processed. */
  readonly position: bigint
  readonly behindRecords: number
  /** Whether any indexer owns it. */
  readonly isOwned: boolean
}

/** A rebuild: a generation that is built beside the one that serves. */
export type RebuildSurvey = {
  readonly isRunning: boolean
  /** Share of all records that it has processed, 0 to 1. */
  readonly progress: number
}

/** What Kafka knows about the whole consumer group. */
export type GroupSurvey = {
  readonly partitions: readonly PartitionSurvey[]
  readonly indexers: number
  /** Dead letters that Kafka still keeps. */
  readonly deadLetters: number
  readonly rebuild: RebuildSurvey | undefined
}

/** Reads the group's progress from Kafka; `serving` is the generation that its commits belong to. */
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
  const owned = new Set(members.flat().map(partitionName))
  const partitions = [...ends].map(([name, { topic, partition, low, high }]) => {
    const position = commits.get(name)?.position ?? low
    const behindRecords = Math.max(0, Number(high - position))
    return { topic, partition, position, behindRecords, isOwned: owned.has(name) }
  })
  return {
    partitions,
    indexers: members.length,
    deadLetters: [...letters.values()].reduce((sum, { low, high }) => sum + Number(high - low), 0),
    rebuild: rebuildOf(ends, rebuilt, documentTopics(config), rebuilding.length > 0, serving),
  }
}

/**
 * The rebuild that runs, or was left unfinished; undefined if there is none. Its commits name a newer generation than the one that serves;
 * those of a finished rebuild name the one that serves.
 */
function rebuildOf(
  ends: Awaited<ReturnType<KafkaSource['offsetRanges']>>,
  rebuilt: ReadonlyMap<string, CommittedOffset>,
  topics: readonly string[],
  isRunning: boolean,
  serving: number,
): RebuildSurvey | undefined {
  const isNewer = ({ generation }: CommittedOffset): boolean => (readTag(generation)?.number ?? 0) > serving
  const isUnderWay = [...rebuilt.values()].some(isNewer)
  if (!isRunning && !isUnderWay) return undefined
  let [done, total] = [0, 0]
  for (const [name, { topic, low, high }] of ends) {
    if (!topics.includes(topic)) continue
    const commit = rebuilt.get(name)
    total += Number(high - low)
    if (commit !== undefined && isNewer(commit)) done += Math.max(0, Number(commit.position - low))
  }
  return { isRunning, progress: total === 0 ? 1 : Math.min(1, done / total) }
}

/** Records processed between two surveys. A partition whose position went back counts nothing: a new generation reads from the start. */
export function progressBetween(before: GroupSurvey, after: GroupSurvey): number {
  const known = new Map(before.partitions.map((each) => [partitionName(each), each.position]))
  return after.partitions.reduce((sum, each) => {
    const from = known.get(partitionName(each))
    return from === undefined || each.position < from ? sum : sum + Number(each.position - from)
  }, 0)
}

/** The size of an index. */
export type IndexSurvey = {
  readonly name: string
  readonly generation: number
  /** Includes the tombstones of deleted entities. */
  readonly documents: number
  /** Of all shard copies together. */
  readonly bytes: number
}

const requestTimeoutMs = 10_000

/** Reads the sizes of all indices of a prefix, of every generation, from Elasticsearch. Rejects while there are none. */
export async function surveyIndices(client: Client, prefix: string, signal: AbortSignal): Promise<IndexSurvey[]> {
  const { indices = {} } = await client.indices.stats(
    {
      index: documentKinds.map((kind) => `${aliasOf(prefix, kind)}-v*`),
      metric: ['docs', 'store'],
      filter_path: 'indices.*.primaries.docs.count,indices.*.total.store.size_in_bytes',
    },
    { requestTimeout: requestTimeoutMs, signal },
  )
  const found = Object.entries(indices)
    .flatMap(([name, { primaries, total }]): IndexSurvey[] => {
      const read = readPhysicalName(prefix, name)
      if (read === undefined) return []
      const { generation } = read
      const documents = primaries?.docs?.count ?? 0
      return [{ name, generation, documents, bytes: total?.store?.size_in_bytes ?? 0 }]
    })
    .sort((a, b) => a.generation - b.generation || a.name.localeCompare(b.name))
  if (found.length === 0) throw new Error('there are no indices yet')
  return found
}
