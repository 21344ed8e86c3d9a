import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { ReplacementDetector } from './logReplacement.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { PublishedPosition } from './publishedPosition.ts'
import type { StartOffset } from './startOffsets.ts'

/** The state of a partition from its assignment to the next rebalance. If the rebalance assigns the partition to this indexer again, a new state begins. */
export type AssignedPartition = TopicPartition & {
  readonly start: StartOffset
  /** The records from fetched to processed; its position is committed. */
  readonly offsets: OffsetTracker
  /** Whether a deletion may have been removed from the topic before it was read. */
  readonly coverage: DeletionCoverage
  /** The position that clients see. */
  readonly visible: PublishedPosition
  /** Whether the Kafka log of the partition was replaced by another one. */
  readonly log: ReplacementDetector
  /** The last commit of this assignment; undefined before the first. */
  committed: LastCommit | undefined
  /** The offset at which the next batch must begin. */
  nextOffset: bigint
  /** Why the next record batch cannot be decoded: the partition is paused. Undefined if no batch has failed, or the batch was decoded since. */
  undecodable: Undecodable | undefined
  /** The number of processed records that cannot be committed yet, because an earlier record is in flight. */
  processedBehind: number
  /** Aborts at `endAssignment`, because of a rebalance or a stop. From then on, another indexer may read from the committed offset. */
  readonly assignmentEnd: AbortSignal
  endAssignment(): void
}

type LastCommit = Pick<StartOffset, 'position' | 'coveredUntilMs'> & { readonly isReplaced: boolean }

/** Creates the state of a partition that was assigned now. `keptMs`: the least time from the append of a deletion until compaction may remove it. */
export function assignPartition(
  partition: TopicPartition,
  start: StartOffset | undefined,
  keptMs: (topic: string) => number,
): AssignedPartition {
  if (start === undefined) throw new Error(`the start offset of ${partitionName(partition)} is unknown`)
  const assignmentEnd = new AbortController()
  return {
    ...partition,
    start,
    offsets: new OffsetTracker(start.position),
    coverage: new DeletionCoverage(start.coveredUntilMs, () => keptMs(partition.topic)),
    visible: new PublishedPosition(start.position),
    log: new ReplacementDetector(start.log),
    committed: undefined,
    nextOffset: start.position,
    undecodable: undefined,
    processedBehind: 0,
    assignmentEnd: assignmentEnd.signal,
    endAssignment: () => assignmentEnd.abort(new Error(`${partitionName(partition)} is not assigned any more`)),
  }
}

/**
 * Throws if a batch, which begins at `batchStart`, does not begin at the next offset: records would be skipped, or read twice. This happens if the batch was
 * fetched for an earlier assignment, or if KafkaJS continues where an earlier assignment ended.
 */
export function expectNext(state: AssignedPartition, batchStart: bigint): void {
  if (batchStart !== state.nextOffset)
    throw new Error(`${partitionName(state)} was read from ${batchStart} instead of ${state.nextOffset}`)
}
