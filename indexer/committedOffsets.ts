import type { Admin } from 'kafkajs'
import { type Offset, toOffset } from '../src/core/model/ids.ts'
import type { GenerationTag } from '../src/core/stores/indices.ts'

export type TopicPartition = { readonly topic: string; readonly partition: number }

/** `<topic>/<partition>`: the key of maps by partition, also in Redis. */
export const partitionName = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`

/** The consumer group of rebuilds. */
export const rebuildGroup = (consumerGroup: string): string => `${consumerGroup}-rebuild`

/** What a consumer group has committed for a partition. */
export type CommittedOffset = {
  readonly position: Offset
  /** The generation of indices that holds every record below `position`; undefined when the commit names none. */
  readonly generation: string | undefined
  /** Every invalid record below this offset is in the dead-letters topic already: reading it again must not write it twice. */
  readonly deadLetteredBelow: Offset
}

/** The first offset of a partition, and the offset after its last record. */
export type OffsetRange = { readonly low: bigint; readonly high: bigint }

/** The offset at which reading a partition starts. */
export type StartOffset = {
  readonly position: Offset
  /** Whether this is the group's own committed offset. */
  readonly isCommitted: boolean
  readonly deadLetteredBelow: Offset
}

/** The metadata of a commit. It names the generation of indices, because an offset says nothing about any other one. */
export const commitMetadata = (generation: GenerationTag, deadLetteredBelow: bigint): string =>
  `${generation} ${deadLetteredBelow}`

/** Parses a committed offset and its metadata as Kafka returns them; undefined when nothing is committed. */
export function readCommittedOffset(offset: string, metadata: string | null): CommittedOffset | undefined {
  if (offset.startsWith('-')) return undefined
  const [, generation, below] = /^(\S+) (\d+)$/.exec(metadata ?? '') ?? []
  const position = toOffset(offset)
  const deadLetteredBelow = toOffset(below ?? '0')
  return { position, generation, deadLetteredBelow: deadLetteredBelow > position ? deadLetteredBelow : position }
}

/**
 * Chooses the start offset of a partition so that no record is missing in `generation` (undefined: the records go into no index).
 * - Our own committed offset, when it names that generation.
 * - The offset committed by a rebuild, when it names that generation, but never above our own: only below our own offset is it
 *   certain that invalid records are in the dead letters.
 * - Otherwise the beginning of the partition. This includes committed offsets outside the partition's range: the topic was
 *   deleted and created again, or retention removed the records.
 */
export function startOffset(
  { low, high }: OffsetRange,
  own: CommittedOffset | undefined,
  rebuilt: CommittedOffset | undefined,
  generation: GenerationTag | undefined,
): StartOffset {
  const isInRange = (commit: CommittedOffset | undefined): commit is CommittedOffset =>
    commit !== undefined && commit.position >= low && commit.position <= high
  const deadLetteredBelow = isInRange(own) && own.deadLetteredBelow <= high ? own.deadLetteredBelow : toOffset('0')
  if (isInRange(own) && (generation === undefined || own.generation === generation))
    return { position: own.position, isCommitted: true, deadLetteredBelow }
  if (isInRange(own) && isInRange(rebuilt) && rebuilt.generation === generation) {
    const position = own.position < rebuilt.position ? own.position : rebuilt.position
    return { position, isCommitted: false, deadLetteredBelow }
  }
  return { position: low as Offset, isCommitted: false, deadLetteredBelow }
}

/** The committed offsets of a group for the topics, by `partitionName`. */
export async function fetchCommittedOffsets(
  admin: Admin,
  groupId: string,
  topics: readonly string[],
): Promise<Map<string, CommittedOffset>> {
  const commits = new Map<string, CommittedOffset>()
  for (const { topic, partitions } of await admin.fetchOffsets({ groupId, topics: [...topics] })) {
    for (const { partition, offset, metadata } of partitions) {
      const commit = readCommittedOffset(offset, metadata)
      if (commit !== undefined) commits.set(partitionName({ topic, partition }), commit)
    }
  }
  return commits
}

/** The offset range of every partition of the topics, by `partitionName`. */
export async function fetchOffsetRanges(
  admin: Admin,
  topics: readonly string[],
): Promise<Map<string, OffsetRange & TopicPartition>> {
  const ends = new Map<string, OffsetRange & TopicPartition>()
  for (const topic of topics)
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
      ends.set(partitionName({ topic, partition }), { topic, partition, low: BigInt(low), high: BigInt(high) })
  return ends
}

/**
 * The start offset of each partition, by `partitionName`. `rebuildGroupId`: a second group whose commits count (see `startOffset`);
 * `generationOf`: the generation that a topic's records are written to. A partition that Kafka does not know yet is left out.
 */
export async function fetchStartOffsets(
  admin: Admin,
  partitions: readonly TopicPartition[],
  from: {
    readonly topics: readonly string[]
    readonly groupId: string
    readonly rebuildGroupId?: string
    generationOf(topic: string): GenerationTag | undefined
  },
): Promise<Map<string, StartOffset>> {
  const { topics, groupId, rebuildGroupId, generationOf } = from
  const ends = await fetchOffsetRanges(admin, topics)
  const own = await fetchCommittedOffsets(admin, groupId, topics)
  const rebuilt = rebuildGroupId === undefined ? undefined : await fetchCommittedOffsets(admin, rebuildGroupId, topics)
  return new Map(
    partitions.flatMap((each) => {
      const [name, end] = [partitionName(each), ends.get(partitionName(each))]
      return end === undefined
        ? []
        : [[name, startOffset(end, own.get(name), rebuilt?.get(name), generationOf(each.topic))] as const]
    }),
  )
}
