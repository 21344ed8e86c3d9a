import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { ReplacementDetector } from './logReplacement.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { PublishedPosition } from './publishedPosition.ts'
import type { StartOffset } from './startOffsets.ts'

/** The state of a partition from its assignment to the next rebalance, even if that assigns the partition to this indexer again. */
export type AssignedPartition = TopicPartition & {
  readonly start: StartOffset
  readonly offsets: OffsetTracker
  readonly coverage: DeletionCoverage
  readonly visible: PublishedPosition
  readonly log: ReplacementDetector
  /** The last commit of this assignment; undefined before the first. */
  committed: LastCommit | undefined
  nextOffset: bigint
  /** The error of the next record batch, if that cannot be decoded: the partition is paused. */
  undecodable: Undecodable | undefined
  /** The number of processed records that cannot be committed yet, because an earlier record is in flight. */
  processedBehind: number
  /** Aborts when the assignment ends. From then on, another indexer may read from the committed offset. */
  readonly left: AbortSignal
  leave(): void
}

type LastCommit = Pick<StartOffset, 'position' | 'coveredUntilMs'> & { readonly isReplaced: boolean }

export function assignPartition(
  partition: TopicPartition,
  start: StartOffset | undefined,
  keptMs: (topic: string) => number,
): AssignedPartition {
  if (start === undefined) throw new Error(`the start offset of ${partitionName(partition)} is unknown`)
  const leftController = new AbortController()
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
    left: leftController.signal,
    leave: () => leftController.abort(new Error(`${partitionName(partition)} is not assigned any more`)),
  }
}

/**
 * Throws if a batch does not continue at the next offset, so that no record is skipped. The batch may have been fetched for an earlier assignment, or KafkaJS
 * has continued at the next offset of an earlier assignment.
 */
export function expectNext(state: AssignedPartition, offset: bigint): void {
  if (offset !== state.nextOffset)
    throw new Error(`${partitionName(state)} was read from ${offset} instead of ${state.nextOffset}`)
}
