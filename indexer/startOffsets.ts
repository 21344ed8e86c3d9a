import type { GenerationTag } from '../src/core/elasticsearch/indices.ts'
import type { PartitionCommit } from '../src/core/kafka/consumerGroup.ts'
import type { KafkaSource, OffsetRange, OffsetRanges } from '../src/core/kafka/source.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { type Offset, toOffset } from '../src/core/model/ids.ts'
import { until } from './backoff.ts'
import { notCovered } from './deletionCoverage.ts'
import type { Generation } from './generations/generation.ts'
import {
  type LogState,
  logStateText,
  readLogState,
  readStoredLogState,
  replacedLog,
  unreadLog,
} from './logReplacement.ts'

/** The consumer group of rebuilds, beside the group of the indexers. */
export const rebuildGroup = (consumerGroup: string): string => `${consumerGroup}-rebuild`

/** A commit with the fields of its metadata (`commitMetadata`). */
export type CommittedOffset = {
  readonly position: Offset
  /** The tag of the generation (the build of the indices) for which every record below `position` was processed; undefined if the metadata cannot be parsed. */
  readonly generation: string | undefined
  /** Every rejected record below this offset has its dead letter. When it is read again, no second dead letter is written. */
  readonly deadLetteredBelow: Offset
  /** Every record that was appended before this time (epoch ms) is below `position`; `notCovered` if a deletion may have been missed. */
  readonly coveredUntilMs: number
  /** By this state, it is recognised whether the partition's log was replaced by another one. */
  readonly log: LogState
}

/** The offset at which to begin to read a partition, with what is known of the records below it. */
export type StartOffset = Omit<CommittedOffset, 'generation'>

/** The generation to be written. */
type TargetGeneration = Pick<Generation, 'tag' | 'createdAtMs'>

export type StartOffsetOptions = {
  readonly topics: readonly string[]
  readonly groupId: string
  /** The group of rebuilds: an indexer also counts its commits (see `startOffset`). Undefined if `groupId` is this group. */
  readonly rebuildGroupId: string | undefined
  /** The generation into which a topic is read; undefined for account keys, which are not in the indices. */
  generationOf(topic: string): TargetGeneration | undefined
  /** `partitionName` → the state, as Redis stores it (`logStateText`), of the log from which the generation was read. */
  readonly storedLogs: ReadonlyMap<string, string>
  /** Reads the states of the partitions' logs from the documents of the generation (`logStatesOfDocuments.ts`); by `partitionName`. */
  logStatesOfDocuments(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, LogState>>
  /** Epoch ms. */
  readonly clock: () => number
  /** For how long Kafka is queried again while the end of a partition is below a commit; if undefined, the first answer counts. */
  readonly patience?: Patience
}

/** For this time (ms) after a partition got another leader, the former leader may still answer, with an end below a commit. */
export const formerLeaderMs = 10_000

type Patience = { readonly ms: number; readonly signal: AbortSignal }

/** Finds the start offset of each partition, by `partitionName`. A partition that Kafka does not have yet is left out. */
export async function fetchStartOffsets(
  source: KafkaSource,
  partitions: readonly TopicPartition[],
  options: StartOffsetOptions,
): Promise<Map<string, StartOffset>> {
  const { topics, groupId, rebuildGroupId, generationOf, storedLogs, logStatesOfDocuments, clock, patience } = options
  // 1. The clock: every record at or beyond an end was appended after `nowMs`.
  const nowMs = clock()
  // 2. The commits: a commit that another indexer makes after step 3 could be beyond an end.
  const ownCommits = await fetchCommittedOffsets(source, groupId, topics)
  const rebuildCommits =
    rebuildGroupId === undefined ? noCommits : await fetchCommittedOffsets(source, rebuildGroupId, topics)
  const commitsOf = (partition: TopicPartition): PartitionCommits => {
    const name = partitionName(partition)
    return { own: ownCommits.get(name), ofRebuild: rebuildCommits.get(name), generation: generationOf(partition.topic) }
  }
  // 3. The ends, queried until no end is below a commit.
  const areConsistent = (ranges: OffsetRanges): boolean =>
    partitions.every((partition) => areCommitsWithin(ranges.get(partitionName(partition)), commitsOf(partition)))
  const ranges = await fetchRanges(source, topics, areConsistent, patience)
  // 4. The states of logs from the documents, where neither a commit nor Redis has the state.
  const withoutState = partitions.filter(
    (partition) => !hasCommittedState(commitsOf(partition)) && !storedLogs.has(partitionName(partition)),
  )
  const statesOfDocuments = await logStatesOfDocuments(withoutState)
  return new Map(
    partitions.flatMap((partition) => {
      const name = partitionName(partition)
      const range = ranges.get(name)
      if (range === undefined) return []
      const commits = commitsOf(partition)
      // If this partition has a commit, those of other partitions do not count.
      const otherCommits = ownCommits.has(name) ? [] : ownCommits.values()
      const coveredWithoutCommitMs = coveredWithoutCommit(range, commits.generation, otherCommits, nowMs)
      const storedState = statesOfDocuments.get(name) ?? readStoredLogState(storedLogs.get(name))
      const logWithoutCommit = isRenamed(partition.topic, storedLogs, topics) ? replacedLog : storedState
      return [[name, startOffset({ ...commits, range, nowMs, coveredWithoutCommitMs, logWithoutCommit })] as const]
    }),
  )
}

/** Fetches the commits of a group, by `partitionName`. A partition without a commit is left out. */
export async function fetchCommittedOffsets(
  source: KafkaSource,
  groupId: string,
  topics: readonly string[],
): Promise<Map<string, CommittedOffset>> {
  const commits = await source.committedOffsets(groupId, topics)
  return new Map(commits.map((commit) => [partitionName(commit), readCommit(commit)]))
}

const noCommits: ReadonlyMap<string, CommittedOffset> = new Map()

/**
 * The metadata of a commit: `<generation> <deadLetteredBelow> <coveredUntilMs> <log>`, such as `3-k8Jf 500 1764403600000 500:1764403600000`. It names the
 * generation, since other generations may lack records below the committed offset.
 */
export const commitMetadata = (
  generation: GenerationTag,
  deadLetteredBelow: bigint,
  coveredUntilMs: number,
  log: LogState,
): string => `${generation} ${deadLetteredBelow} ${Math.floor(coveredUntilMs)} ${logStateText(log)}`

function readCommit({ position, metadata }: PartitionCommit): CommittedOffset {
  const [, generation, below, coveredUntilMs, log] = /^(\S+) (\d+) (\d+)(?: (\S+))?$/.exec(metadata) ?? []
  const deadLetteredBelow = toOffset(below ?? '0')
  return {
    position,
    generation,
    // Every rejected record below a commit of an indexer has its dead letter. (`startOffset` does not use this member of a rebuild's commit.)
    deadLetteredBelow: deadLetteredBelow > position ? deadLetteredBelow : position,
    coveredUntilMs: Number(coveredUntilMs ?? notCovered),
    log: readLogState(log, position),
  }
}

/**
 * The commits of a partition, `own` in the group `groupId` and `ofRebuild` in `rebuildGroupId`, and the generation to be written. Each is undefined if there is
 * none.
 */
type PartitionCommits = {
  readonly own: CommittedOffset | undefined
  readonly ofRebuild: CommittedOffset | undefined
  readonly generation: TargetGeneration | undefined
}

/** Whether no commit is beyond the end of the partition. A commit of a rebuild counts only if it names the generation. */
function areCommitsWithin(range: OffsetRange | undefined, { own, ofRebuild, generation }: PartitionCommits): boolean {
  if (range === undefined) return true
  const countsRebuild = ofRebuild?.generation === generation?.tag
  const commits = countsRebuild ? [own, ofRebuild] : [own]
  return commits.every((commit) => commit === undefined || commit.position <= range.high)
}

/** Whether a commit names the generation, and so has the state of the log. Also true for account keys, which need no state. */
const hasCommittedState = ({ own, ofRebuild, generation }: PartitionCommits): boolean =>
  generation === undefined || [own, ofRebuild].some((commit) => commit?.generation === generation.tag)

/** Fetches the offset ranges; again, from the present leaders, while they are not consistent, at most for `patience`. */
async function fetchRanges(
  source: KafkaSource,
  topics: readonly string[],
  areConsistent: (ranges: OffsetRanges) => boolean,
  patience: Patience | undefined,
): Promise<OffsetRanges> {
  let ranges = await source.offsetRanges(topics)
  const queryAgain = async (): Promise<boolean> => {
    source.forgetLeaders()
    ranges = await source.offsetRanges(topics)
    return areConsistent(ranges)
  }
  if (patience !== undefined && !areConsistent(ranges)) await until(queryAgain, patience.ms, patience.signal)
  return ranges
}

type StartInput = PartitionCommits & {
  readonly range: OffsetRange
  /** Epoch ms, before `range` was queried. */
  readonly nowMs: number
  /** The result's `coveredUntilMs` if no commit names the generation. */
  readonly coveredWithoutCommitMs: number
  /** The result's `log` if no commit names the generation. */
  readonly logWithoutCommit: LogState
}

/**
 * Chooses the start offset of a partition, so that the generation misses no record:
 * 1. the own commit (of `groupId`), if it names the generation, or if there is no generation, as for account keys;
 * 2. else, if a rebuild's commit names the generation, the lower of both commits. The own commit may be lower: a rebuild writes no dead letters, so rejected
 *    records above the own commit still need dead letters;
 * 3. else the first offset.
 *
 * A commit outside the offset range does not count: the topic was created again, or retention has removed records above the commit.
 */
function startOffset(input: StartInput): StartOffset {
  const { range, own, ofRebuild, generation, nowMs, coveredWithoutCommitMs, logWithoutCommit } = input
  const { low, high } = range
  const isInRange = (commit: CommittedOffset | undefined): commit is CommittedOffset =>
    commit !== undefined && commit.position >= low && commit.position <= high
  // A commit at the end has missed nothing, however old: no deletion was appended after it.
  const coveredUntilMsOf = ({ position, coveredUntilMs }: CommittedOffset): number =>
    coveredUntilMs !== notCovered && position >= high ? nowMs : coveredUntilMs
  const hasDeadLetters = isInRange(own) && own.deadLetteredBelow <= high
  const commitOfGeneration = [own, ofRebuild].find((commit) => commit?.generation === generation?.tag)
  const common = {
    deadLetteredBelow: hasDeadLetters ? own.deadLetteredBelow : toOffset('0'),
    log: generation === undefined ? unreadLog : (commitOfGeneration?.log ?? logWithoutCommit),
  }
  if (isInRange(own) && (generation === undefined || own.generation === generation.tag))
    return { ...common, position: own.position, coveredUntilMs: coveredUntilMsOf(own) }
  if (isInRange(own) && isInRange(ofRebuild) && ofRebuild.generation === generation?.tag) {
    const position = own.position < ofRebuild.position ? own.position : ofRebuild.position
    return { ...common, position, coveredUntilMs: coveredUntilMsOf(ofRebuild) }
  }
  // Retention has removed records above the own commit before they were read, perhaps deletions.
  const hasLostRecords = own !== undefined && own.generation === generation?.tag && own.position < low
  return { ...common, position: low as Offset, coveredUntilMs: hasLostRecords ? notCovered : coveredWithoutCommitMs }
}

/**
 * The `coveredUntilMs` of a partition without a commit: a time (epoch ms) before which the generation can have missed no deletion of this partition. It is
 * - the creation of the generation: it has no older document that a missed deletion should have removed;
 * - or, if other partitions have commits for the generation, the latest `coveredUntilMs` of these commits. Then the partition was added later, or its owner was
 *   killed before its first commit.
 */
function coveredWithoutCommit(
  { high }: OffsetRange,
  generation: TargetGeneration | undefined,
  otherCommits: Iterable<CommittedOffset>,
  nowMs: number,
): number {
  // No record was ever appended.
  if (high === 0n) return nowMs
  // Redis may still have account keys whose deletions Kafka has removed: a replay is needed.
  if (generation === undefined) return notCovered
  const commitsOfGeneration = [...otherCommits].filter((commit) => commit.generation === generation.tag)
  if (commitsOfGeneration.length === 0) return generation.createdAtMs
  return Math.max(...commitsOfGeneration.map(({ coveredUntilMs }) => coveredUntilMs))
}

/**
 * Whether a generation was read from a topic of another name, since an operator has changed `TOPIC_FORMS`, for example: its positions are offsets of another
 * log. `states`: the states of the logs from which it was read, by `partitionName`; `topics`: the topics of the present configuration.
 */
export function isRenamed(topic: string, states: { keys(): Iterable<string> }, topics: readonly string[]): boolean {
  const readTopics = new Set([...states.keys()].map((name) => name.slice(0, name.lastIndexOf('/'))))
  return !readTopics.has(topic) && [...readTopics].some((readTopic) => !topics.includes(readTopic))
}
