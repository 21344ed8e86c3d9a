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

export const rebuildGroup = (consumerGroup: string): string => `${consumerGroup}-rebuild`

export type CommittedOffset = {
  readonly position: Offset
  /** Every record below `position` was processed for the generation with this tag; undefined if the metadata cannot be parsed. */
  readonly generation: string | undefined
  /** Every rejected record below this offset has its dead letter: read again, it gets no second one. */
  readonly deadLetteredBelow: Offset
  /** Every record appended before this time (epoch ms) is below `position`; `notCovered` if a deletion may have been missed. */
  readonly coveredUntilMs: number
  readonly log: LogState
}

export type StartOffset = Omit<CommittedOffset, 'generation'>

type TargetGeneration = Pick<Generation, 'tag' | 'createdAtMs'>

export type StartOffsetOptions = {
  readonly topics: readonly string[]
  readonly groupId: string
  /** The group of rebuilds, whose commits count, too (`startOffset`); undefined if `groupId` is this group. */
  readonly rebuildGroupId: string | undefined
  generationOf(topic: string): TargetGeneration | undefined
  /** `partitionName` → `logStateText` of the log from which the generation was read. */
  readonly storedLogs: ReadonlyMap<string, string>
  /** By `partitionName`. */
  logStatesOfDocuments(partitions: readonly TopicPartition[]): Promise<ReadonlyMap<string, LogState>>
  readonly clock: () => number
  /** For how long Kafka is queried again while a partition's end is below a commit; undefined: not at all. */
  readonly patience?: Patience
}

/** For this time (ms) after a change of leader, the former leader may still answer, with an old end. */
export const formerLeaderMs = 10_000

type Patience = { readonly ms: number; readonly signal: AbortSignal }

/** Finds start offsets, by `partitionName`; without partitions that Kafka does not have yet. */
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
  // 3. The ends; none may be below a commit.
  const areConsistent = (ranges: OffsetRanges): boolean =>
    partitions.every((partition) => areCommitsWithin(ranges.get(partitionName(partition)), commitsOf(partition)))
  const ranges = await fetchRanges(source, topics, areConsistent, patience)
  // 4. The states of logs that neither a commit nor Redis has.
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
      const hasAnyCommit = ownCommits.has(name)
      const otherCommits = hasAnyCommit ? [] : ownCommits.values()
      const coveredWithoutCommitMs = coveredWithoutCommit(range, commits.generation, otherCommits, nowMs)
      const storedState = statesOfDocuments.get(name) ?? readStoredLogState(storedLogs.get(name))
      const logWithoutCommit = isRenamed(partition.topic, storedLogs, topics) ? replacedLog : storedState
      return [[name, startOffset({ ...commits, range, nowMs, coveredWithoutCommitMs, logWithoutCommit })] as const]
    }),
  )
}

/** By `partitionName`. */
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
 * The metadata of a commit, such as `3-k8Jf 500 1764403600000 500:1764403600000`. It names the generation, since others may lack records below the committed
 * offset.
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
    // Every rejected record below an indexer's commit has its dead letter.
    deadLetteredBelow: deadLetteredBelow > position ? deadLetteredBelow : position,
    coveredUntilMs: Number(coveredUntilMs ?? notCovered),
    log: readLogState(log, position),
  }
}

/** The commits in `groupId` (`own`) and `rebuildGroupId` (`ofRebuild`), and the generation to be written. */
type PartitionCommits = {
  readonly own: CommittedOffset | undefined
  readonly ofRebuild: CommittedOffset | undefined
  readonly generation: TargetGeneration | undefined
}

/** A rebuild's commit counts only if it names the generation. */
function areCommitsWithin(range: OffsetRange | undefined, { own, ofRebuild, generation }: PartitionCommits): boolean {
  if (range === undefined) return true
  const countsRebuild = ofRebuild?.generation === generation?.tag
  const commits = countsRebuild ? [own, ofRebuild] : [own]
  return commits.every((commit) => commit === undefined || commit.position <= range.high)
}

/** Account keys need no state. */
const hasCommittedState = ({ own, ofRebuild, generation }: PartitionCommits): boolean =>
  generation === undefined || [own, ofRebuild].some((commit) => commit?.generation === generation.tag)

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
  readonly nowMs: number
  /** The result's members if no commit names the generation. */
  readonly coveredWithoutCommitMs: number
  readonly logWithoutCommit: LogState
}

/**
 * Chooses the start offset, so that the generation misses no record:
 * 1. the own commit, if it names the generation, or there is no generation (account keys);
 * 2. else, if a rebuild's commit names the generation, the lower of both commits: a rebuild writes no dead letters, so rejected records above the own commit
 *    still need them;
 * 3. else the first offset.
 *
 * A commit outside the offset range does not count: the topic was created again, or retention has removed records above the commit.
 */
function startOffset(input: StartInput): StartOffset {
  const { range, own, ofRebuild, generation, nowMs, coveredWithoutCommitMs, logWithoutCommit } = input
  const { low, high } = range
  const isInRange = (commit: CommittedOffset | undefined): commit is CommittedOffset =>
    commit !== undefined && commit.position >= low && commit.position <= high
  // A commit at the end has missed nothing, however old.
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
  // Retention has removed unread records, perhaps deletions.
  const hasLostRecords = own !== undefined && own.generation === generation?.tag && own.position < low
  return { ...common, position: low as Offset, coveredUntilMs: hasLostRecords ? notCovered : coveredWithoutCommitMs }
}

/**
 * A time (epoch ms) before which the generation can have missed no deletion of a partition without a commit for it. As a rule, this is the creation of the
 * generation, which has no older document. But for a partition without any commit, it is the latest `coveredUntilMs` in commits of other partitions for the
 * generation (`otherCommits`), if there are any:
 * 1. A generation is created in May. In July, while indexers run, a partition is added to the topic. Counted from May, deletions would seem to be missed, and
 *    a rebuild would be needed.
 * 2. While indexers run, each partition has an owner, which commits in its first round, seconds after it began to read. So before the latest commit in July,
 *    nothing of the new partition was read, or only during these seconds, if its owner was killed before its first commit.
 */
function coveredWithoutCommit(
  { high }: OffsetRange,
  generation: TargetGeneration | undefined,
  otherCommits: Iterable<CommittedOffset>,
  nowMs: number,
): number {
  if (high === 0n) return nowMs
  // Redis may still have keys whose deletions Kafka has removed.
  if (generation === undefined) return notCovered
  const commitsOfGeneration = [...otherCommits].filter((commit) => commit.generation === generation.tag)
  if (commitsOfGeneration.length === 0) return generation.createdAtMs
  return Math.max(...commitsOfGeneration.map(({ coveredUntilMs }) => coveredUntilMs))
}

/**
 * Whether a generation was read from a topic of another name, because an operator has changed `TOPIC_FORMS`, for example. Its positions are then offsets of
 * another log.
 */
export function isRenamed(topic: string, states: { keys(): Iterable<string> }, topics: readonly string[]): boolean {
  const readTopics = new Set([...states.keys()].map((name) => name.slice(0, name.lastIndexOf('/'))))
  return !readTopics.has(topic) && [...readTopics].some((readTopic) => !topics.includes(readTopic))
}
