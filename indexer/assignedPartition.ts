import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { ReadLog } from './readLog.ts'
import type { StartOffset } from './startOffsets.ts'
import { VisibleProgress } from './visibleProgress.ts'

/** A partition that the group coordinator has assigned to this indexer, since the last rebalance. */
export type AssignedPartition = ReturnType<typeof assignPartition>

/** Begins to read a partition. `keptMs`: how long (ms) a topic keeps a deletion for certain. */
export function assignPartition(
  partition: TopicPartition,
  start: StartOffset | undefined,
  keptMs: (topic: string) => number,
) {
  if (start === undefined) throw new Error(`the start offset of ${partitionName(partition)} is unknown`)
  const leaving = new AbortController()
  return {
    ...partition,
    start,
    offsets: new OffsetTracker(start.position),
    coverage: new DeletionCoverage(start.coveredAtMs, () => keptMs(partition.topic)),
    visible: new VisibleProgress(start.position),
    log: new ReadLog(start.log),
    /** What this owner has committed last. */
    committed: undefined as
      | (Pick<StartOffset, 'position' | 'coveredAtMs'> & { readonly isReplaced: boolean })
      | undefined,
    /** The offset from which the next batch must have been fetched. */
    nextOffset: start.position as bigint,
    /** Why the partition is paused: its next record batch cannot be decoded. */
    undecodable: undefined as Undecodable | undefined,
    /** Records that are processed and wait for one before them. */
    processedBehind: 0,
    /** Aborts once the partition may be another indexer's: whoever reads it then begins at what was committed. */
    left: leaving.signal,
    leave: (): void => leaving.abort(new Error(`${partitionName(partition)} is not assigned any more`)),
  }
}

/** KafkaJS may bring a batch that it fetched, or go on from an offset that it reached, under an earlier assignment. */
export function expectNext(state: AssignedPartition, offset: bigint): void {
  if (offset !== state.nextOffset)
    throw new Error(`${partitionName(state)} was read from ${offset} instead of ${state.nextOffset}`)
}
