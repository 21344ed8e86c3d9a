import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { PartitionClaim } from '../src/core/stores/watermark.ts'
import { ChangeTimes } from './changeTimes.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { OffsetTracker } from './offsetTracker.ts'
import { ReadLog } from './readLog.ts'
import type { StartOffset } from './startOffsets.ts'
import { VisibleProgress } from './visibleProgress.ts'

/** A partition that the group coordinator has assigned to this indexer, since the last rebalance. */
export type AssignedPartition = ReturnType<typeof assignPartition>

/**
 * Begins to read a partition under a claim. No record of it gets a `changedAt` below a watermark that Redis knows of, or that a commit
 * allowed: Redis may have lost the newest.
 */
export function assignPartition(
  partition: TopicPartition,
  start: StartOffset | undefined,
  claimed: PartitionClaim,
  keptMs: (topic: string) => number,
) {
  if (start === undefined) throw new Error(`the start offset of ${partitionName(partition)} is unknown`)
  const leaving = new AbortController()
  const watermarkMs = Math.max(claimed.watermarkMs ?? 0, start.promisedMs)
  return {
    ...partition,
    start,
    offsets: new OffsetTracker(start.position),
    coverage: new DeletionCoverage(start.coveredAtMs, () => keptMs(partition.topic)),
    changeTimes: new ChangeTimes(start.deadLetteredBelow, { ...claimed, watermarkMs }),
    visible: new VisibleProgress(start.position),
    log: new ReadLog(start.log),
    /** The claim under which watermarks of the partition are published. */
    owner: claimed.owner,
    /** What this owner has committed last. */
    committed: undefined as
      | (Pick<StartOffset, 'position' | 'promisedMs'> & { readonly isReplaced: boolean })
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
