import type { Admin } from 'kafkajs'
import { type Offset, toOffset } from '../src/core/model/ids.ts'
import type { GenerationTag } from '../src/core/stores/indices.ts'

/** A partition of a topic. */
export type TopicPartition = { readonly topic: string; readonly partition: number }

export const nameOf = ({ topic, partition }: TopicPartition): string => `${topic}/${partition}`

/** The group in which a rebuild reads. */
export const rebuildGroup = (consumerGroup: string): string => `${consumerGroup}-rebuild`

/** What a group has committed for a partition. */
export type Commit = {
  readonly position: Offset
  /** The generation of indices that holds everything below the position; undefined when a commit does not say. */
  readonly generation: string | undefined
  /** Every record below that must be set aside is in the dead letters: reading it again sets nothing aside twice. */
  readonly deadLetteredBelow: Offset
}

/** Where a partition begins and ends. */
export type Ends = { readonly low: bigint; readonly high: bigint }

/** Where reading a partition starts. */
export type Start = {
  readonly position: Offset
  /** Whether the group's own commit says just this. */
  readonly isCommitted: boolean
  readonly deadLetteredBelow: Offset
}

/** The metadata of a commit: an offset is true only of the indices that the records below it were written to. */
export const commitMetadata = (generation: GenerationTag, deadLetteredBelow: bigint): string =>
  `${generation} ${deadLetteredBelow}`

/** What Kafka keeps for a partition; undefined when nothing is committed. */
export function readCommit(offset: string, metadata: string | null): Commit | undefined {
  if (offset.startsWith('-')) return undefined
  const [, generation, below] = /^(\S+) (\d+)$/.exec(metadata ?? '') ?? []
  const position = toOffset(offset)
  const writeDeadLetter = toOffset(below ?? '0')
  return { position, generation, deadLetteredBelow: writeDeadLetter > position ? writeDeadLetter : position }
}

/**
 * Where to start so that nothing is missing in `generation`: at the own commit when it speaks of that generation, or at a
 * rebuild's that does, but never above the own one, below which alone it is known that bad records were set aside. Otherwise
 * at the beginning; also when the topic does not reach as far as a commit, for then it was created anew.
 */
export function startOf(
  { low, high }: Ends,
  own: Commit | undefined,
  rebuilt: Commit | undefined,
  generation: GenerationTag | undefined,
): Start {
  const isTrue = (commit: Commit | undefined): commit is Commit =>
    commit !== undefined && commit.position >= low && commit.position <= high
  const deadLetteredBelow = isTrue(own) && own.deadLetteredBelow <= high ? own.deadLetteredBelow : toOffset('0')
  if (isTrue(own) && (generation === undefined || own.generation === generation))
    return { position: own.position, isCommitted: true, deadLetteredBelow }
  if (isTrue(own) && isTrue(rebuilt) && rebuilt.generation === generation) {
    const position = own.position < rebuilt.position ? own.position : rebuilt.position
    return { position, isCommitted: false, deadLetteredBelow }
  }
  return { position: low as Offset, isCommitted: false, deadLetteredBelow }
}

/** Everything a group has committed of the topics, by `nameOf`. */
export async function fetchCommits(
  admin: Admin,
  groupId: string,
  topics: readonly string[],
): Promise<Map<string, Commit>> {
  const commits = new Map<string, Commit>()
  for (const { topic, partitions } of await admin.fetchOffsets({ groupId, topics: [...topics] })) {
    for (const { partition, offset, metadata } of partitions) {
      const commit = readCommit(offset, metadata)
      if (commit !== undefined) commits.set(nameOf({ topic, partition }), commit)
    }
  }
  return commits
}

/** The ends of every partition of the topics, by `nameOf`. */
export async function fetchEnds(admin: Admin, topics: readonly string[]): Promise<Map<string, Ends & TopicPartition>> {
  const ends = new Map<string, Ends & TopicPartition>()
  for (const topic of topics)
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
      ends.set(nameOf({ topic, partition }), { topic, partition, low: BigInt(low), high: BigInt(high) })
  return ends
}

/**
 * Where each of the partitions starts, by `nameOf`. `rebuildGroupId`: a group whose commits count beside the own ones;
 * `generationOf`: the indices that a topic's records go into. A partition that Kafka does not know yet is left out.
 */
export async function fetchStarts(
  admin: Admin,
  partitions: readonly TopicPartition[],
  from: {
    readonly topics: readonly string[]
    readonly groupId: string
    readonly rebuildGroupId?: string
    generationOf(topic: string): GenerationTag | undefined
  },
): Promise<Map<string, Start>> {
  const { topics, groupId, rebuildGroupId, generationOf } = from
  const ends = await fetchEnds(admin, topics)
  const own = await fetchCommits(admin, groupId, topics)
  const rebuilt = rebuildGroupId === undefined ? undefined : await fetchCommits(admin, rebuildGroupId, topics)
  return new Map(
    partitions.flatMap((each) => {
      const [name, end] = [nameOf(each), ends.get(nameOf(each))]
      return end === undefined
        ? []
        : [[name, startOf(end, own.get(name), rebuilt?.get(name), generationOf(each.topic))] as const]
    }),
  )
}
