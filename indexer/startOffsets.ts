import type { PartitionCommit } from '../src/core/kafka/consumerGroup.ts'
import type { KafkaSource, OffsetRange, OffsetRanges } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { type Offset, toOffset } from '../src/core/model/ids.ts'
import type { GenerationTag } from '../src/core/stores/indices.ts'
import { until } from './backoff.ts'
import { notCovered } from './deletionCoverage.ts'
import type { Generation } from './generations/generation.ts'
import { type LogState, logStateText, readKeptLog, readLogState, replacedLog, unreadLog } from './readLog.ts'

export const rebuildGroup = (consumerGroup: string): string => `${consumerGroup}-rebuild`

/** What a consumer group has committed for a partition. */
export type CommittedOffset = Readonly<ReturnType<typeof readCommit>>

/** Where reading a partition starts. */
export type StartOffset = Omit<CommittedOffset, 'generation'>

type TargetGeneration = Pick<Generation, 'tag' | 'createdAtMs'>

/** The metadata of a commit. It names the generation of indices, because an offset says nothing about any other one. */
export const commitMetadata = (
  generation: GenerationTag,
  deadLetteredBelow: bigint,
  coveredAtMs: number,
  log: LogState,
): string => `${generation} ${deadLetteredBelow} ${Math.floor(coveredAtMs)} ${logStateText(log)}`

function readCommit({ position, metadata }: PartitionCommit) {
  const [, generation, below, coveredAtMs, log] = /^(\S+) (\d+) (\d+)(?: (\S+))?$/.exec(metadata) ?? []
  const named = toOffset(below ?? '0')
  return {
    position,
    /** The generation of indices that holds every record below `position`; undefined when the commit names none. */
    generation,
    /** Every rejected record below this offset is in the dead-letters topic already: reading it again must not write it twice. */
    deadLetteredBelow: named > position ? named : position,
    /** Everything that was appended before this time (epoch ms) is below `position` (see `DeletionCoverage`). */
    coveredAtMs: Number(coveredAtMs ?? notCovered),
    /** The log that the records below `position` were read from. */
    log: readLogState(log, position),
  }
}

/**
 * Chooses the start offset of a partition so that no record is missing in `generation` (undefined: account keys, which go into no index).
 * - Our own committed offset, when it names that generation.
 * - The offset committed by a rebuild, when it names that generation, but never above our own: only below our own offset is it
 *   certain that rejected records are in the dead letters.
 * - Otherwise the beginning of the partition. This includes committed offsets outside the partition's range: the topic was
 *   deleted and created again, or retention removed the records.
 *
 * What was appended after a commit is at its position or above: where nothing is, nothing can have been missed, however old the commit.
 */
function startOffset(
  { low, high }: OffsetRange,
  own: CommittedOffset | undefined,
  rebuilt: CommittedOffset | undefined,
  generation: TargetGeneration | undefined,
  /** See `coveredWithoutCommit`. */
  fromTheBeginningMs: number,
  nowMs: number,
  /** What is known of its log without a commit of the generation. */
  unread: LogState,
): StartOffset {
  const isInRange = (commit: CommittedOffset | undefined): commit is CommittedOffset =>
    commit !== undefined && commit.position >= low && commit.position <= high
  const coveredBy = ({ position, coveredAtMs }: CommittedOffset): number =>
    coveredAtMs !== notCovered && position >= high ? nowMs : coveredAtMs
  const deadLetteredBelow = isInRange(own) && own.deadLetteredBelow <= high ? own.deadLetteredBelow : toOffset('0')
  const ofGeneration = [own, rebuilt].find((commit) => commit?.generation === generation?.tag)
  const log = generation === undefined ? unreadLog : (ofGeneration?.log ?? unread)
  const known = { deadLetteredBelow, log }
  if (isInRange(own) && (generation === undefined || own.generation === generation.tag))
    return { ...known, position: own.position, coveredAtMs: coveredBy(own) }
  if (isInRange(own) && isInRange(rebuilt) && rebuilt.generation === generation?.tag) {
    const position = own.position < rebuilt.position ? own.position : rebuilt.position
    return { ...known, position, coveredAtMs: coveredBy(rebuilt) }
  }
  // Retention has removed records that were not read.
  const isGap = own !== undefined && own.generation === generation?.tag && own.position < low
  const coveredAtMs = isGap ? notCovered : fromTheBeginningMs
  return { ...known, position: low as Offset, coveredAtMs }
}

/**
 * The time before which a generation holds everything of a partition without a commit: the generation's creation. Where other partitions
 * have commits of the generation, this one is new, or was written just before its owner was killed (an owner commits each partition within
 * seconds): then the time when the others were covered last.
 */
function coveredWithoutCommit(
  { high }: OffsetRange,
  generation: TargetGeneration | undefined,
  others: Iterable<CommittedOffset>,
  nowMs: number,
): number {
  // Nothing was ever appended.
  if (high === 0n) return nowMs
  // Redis may hold account keys that were deleted long ago.
  if (generation === undefined) return notCovered
  const covered = [...others].flatMap((each) => (each.generation === generation.tag ? each.coveredAtMs : []))
  return covered.length === 0 ? generation.createdAtMs : Math.max(...covered)
}

/**
 * Whether a generation was read from a topic of another name in the place of this one, as after a change of `TOPIC_FORMS`: the positions of its documents
 * are of another log. `readLogs`: by `partitionName`, what is kept of the logs that it was read from; `topics`: those of the configuration.
 */
export function isRenamed(topic: string, readLogs: { keys(): Iterable<string> }, topics: readonly string[]): boolean {
  const read = new Set([...readLogs.keys()].map((name) => name.slice(0, name.lastIndexOf('/'))))
  return !read.has(topic) && [...read].some((each) => !topics.includes(each))
}

/** The committed offsets of a group for the topics, by `partitionName`. */
export async function fetchCommittedOffsets(source: KafkaSource, groupId: string, topics: readonly string[]) {
  const commits = await source.committedOffsets(groupId, topics)
  return new Map(commits.map((each) => [partitionName(each), readCommit(each)]))
}

/** For how long (ms) an end below a commit may be the answer of a former leader that does not know of the next one. */
export const formerLeaderMs = 10_000

type Patience = { readonly ms: number; readonly signal: AbortSignal }

/** The offset ranges. While `isKnown` does not hold of them, asks again for `patience`, and others if the leaders have changed. */
async function fetchRanges(
  source: KafkaSource,
  topics: readonly string[],
  isKnown: (ranges: OffsetRanges) => boolean,
  patience: Patience | undefined,
): Promise<OffsetRanges> {
  let ranges = await source.offsetRanges(topics)
  const askAgain = async (): Promise<boolean> => {
    source.forgetLeaders()
    ranges = await source.offsetRanges(topics)
    return isKnown(ranges)
  }
  if (patience !== undefined && !isKnown(ranges)) await until(askAgain, patience.ms, patience.signal)
  return ranges
}

/**
 * The start offset of each partition, by `partitionName`. `rebuildGroupId`: a second group whose commits count (see `startOffset`);
 * `generationOf`: the generation that a topic's records are written to; `patience`: for how long an end below a commit is
 * not believed. A partition that Kafka does not know yet is left out.
 */
export async function fetchStartOffsets(
  source: KafkaSource,
  partitions: readonly TopicPartition[],
  from: {
    readonly topics: readonly string[]
    readonly groupId: string
    readonly rebuildGroupId: string | undefined
    generationOf(topic: string): TargetGeneration | undefined
    /** What is kept of the logs of that generation for partitions without a commit, by `partitionName`. */
    readonly keptLogs: ReadonlyMap<string, string>
    /** What its documents tell of the logs of these partitions, by `partitionName`. */
    indexedLogs(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, LogState>>
    readonly clock: () => number
    readonly patience?: Patience
  },
): Promise<Map<string, StartOffset>> {
  const { topics, groupId, rebuildGroupId, generationOf, keptLogs, indexedLogs, clock, patience } = from
  // Before the ends: what lies beyond them was appended later.
  const nowMs = clock()
  const own = await fetchCommittedOffsets(source, groupId, topics)
  const rebuilt = rebuildGroupId === undefined ? undefined : await fetchCommittedOffsets(source, rebuildGroupId, topics)
  // After the commits, which another indexer may raise meanwhile.
  const isKnown = (told: OffsetRanges): boolean =>
    partitions.every((each) => {
      const name = partitionName(each)
      const high = told.get(name)?.high
      const ofRebuild = rebuilt?.get(name)
      const counts =
        ofRebuild?.generation === generationOf(each.topic)?.tag ? [own.get(name), ofRebuild] : [own.get(name)]
      return high === undefined || counts.every((commit) => (commit?.position ?? 0n) <= high)
    })
  const ranges = await fetchRanges(source, topics, isKnown, patience)
  const isCommitted = (each: TopicPartition): boolean =>
    [own, rebuilt].some((commits) => commits?.get(partitionName(each))?.generation === generationOf(each.topic)?.tag)
  const unknown = partitions.filter((each) => !isCommitted(each) && !keptLogs.has(partitionName(each)))
  const indexed = await indexedLogs(unknown)
  return new Map(
    partitions.flatMap((each) => {
      const name = partitionName(each)
      const range = ranges.get(name)
      if (range === undefined) return []
      const generation = generationOf(each.topic)
      const others = own.has(name) ? [] : own.values()
      const beginning = coveredWithoutCommit(range, generation, others, nowMs)
      const commits = [own.get(name), rebuilt?.get(name)] as const
      const known = indexed.get(name) ?? readKeptLog(keptLogs.get(name))
      const log = isRenamed(each.topic, keptLogs, topics) ? replacedLog : known
      return [[name, startOffset(range, ...commits, generation, beginning, nowMs, log)] as const]
    }),
  )
}
