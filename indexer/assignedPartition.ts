import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { ReplacementDetector } from './logReplacement.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { PublishedPosition } from './publishedPosition.ts'
import type { StartOffset } from './startOffsets.ts'

/** The state of a partition from its assignment to the next rebalance, even if that assigns it to this indexer again. */
export type AssignedPartition = TopicPartition & {
  readonly start: StartOffset
  readonly offsets: OffsetTracker
  readonly coverage: DeletionCoverage
  readonly visible: PublishedPosition
  readonly log: ReplacementDetector
  /** Undefined before the first. */
  committed: LastCommit | undefined
  /** Where the next batch must begin. */
  nextOffset: bigint
  /** Why the next record batch cannot be decoded: the partition is paused. */
  undecodable: Undecodable | undefined
  /** The number of processed records that cannot be committed yet, because an earlier record is in flight. */
  processedBehind: number
  /** Aborts because of a rebalance or a stop. From then on, another indexer may read from the committed offset. */
  readonly assignmentEnd: AbortSignal
  endAssignment(): void
}

type LastCommit = Pick<StartOffset, 'position' | 'coveredUntilMs'> & { readonly isReplaced: boolean }

/** `keptMs`: the least time from the append of a deletion until compaction may remove it. */
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

/** Throws if a batch does not begin at the next offset: it was fetched for an earlier assignment, or KafkaJS continues where an earlier one ended. */
export function expectNext(state: AssignedPartition, batchStart: bigint): void {
  if (batchStart !== state.nextOffset)
    throw new Error(`${partitionName(state)} was read from ${batchStart} instead of ${state.nextOffset}`)
}
