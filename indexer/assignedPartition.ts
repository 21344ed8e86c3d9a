import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { ReadLog } from './readLog.ts'
import type { StartOffset } from './startOffsets.ts'
import { VisibleProgress } from './visibleProgress.ts'

/** The state of a partition from its assignment to this indexer until the next rebalance. */
export type AssignedPartition = TopicPartition & {
  readonly start: StartOffset
  readonly offsets: OffsetTracker
  readonly coverage: DeletionCoverage
  readonly visible: VisibleProgress
  readonly log: ReadLog
  /** The last commit of this owner; undefined before its first one. */
  committed: Committed | undefined
  nextOffset: bigint
  /** Set while the partition is paused, because its next record batch cannot be decoded. */
  undecodable: Undecodable | undefined
  /** The number of processed records behind an earlier record that is not processed. */
  processedBehind: number
  /** Aborts when the partition may be assigned to another indexer, which starts at the committed offset. */
  readonly left: AbortSignal
  leave(): void
}

type Committed = Pick<StartOffset, 'position' | 'coveredAtMs'> & { readonly isReplaced: boolean }

export function assignPartition(
  partition: TopicPartition,
  start: StartOffset | undefined,
  keptMs: (topic: string) => number,
): AssignedPartition {
  if (start === undefined) throw new Error(`the start offset of ${partitionName(partition)} is unknown`)
  const leaving = new AbortController()
  return {
    ...partition,
    start,
    offsets: new OffsetTracker(start.position),
    coverage: new DeletionCoverage(start.coveredAtMs, () => keptMs(partition.topic)),
    visible: new VisibleProgress(start.position),
    log: new ReadLog(start.log),
    committed: undefined,
    nextOffset: start.position,
    undecodable: undefined,
    processedBehind: 0,
    left: leaving.signal,
    leave: () => leaving.abort(new Error(`${partitionName(partition)} is not assigned any more`)),
  }
}

/** Throws when KafkaJS delivers a batch of an earlier assignment, or continues at an offset that it reached in one: records would be skipped. */
export function expectNext(state: AssignedPartition, offset: bigint): void {
  if (offset !== state.nextOffset)
    throw new Error(`${partitionName(state)} was read from ${offset} instead of ${state.nextOffset}`)
}
