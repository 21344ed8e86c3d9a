import type { Undecodable } from '../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { ChangeTimes, type PartitionClaim } from './changeTimes.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { OffsetTracker } from './offsetTracker.ts'
import type { StartOffset } from './startOffsets.ts'

/** A partition that the group coordinator has assigned to this indexer, since the last rebalance. */
export type AssignedPartition = ReturnType<typeof assignPartition>

/**
 * Begins to read a partition under a claim. No record of it gets a `changedAt` below a watermark that Redis knows of, or that a commit
 * allowed: Redis may have lost the newest. `keptMs`: how long its topic keeps a deletion for certain.
 */
export function assignPartition(
  partition: TopicPartition,
  start: StartOffset | undefined,
  claimed: PartitionClaim,
  keptMs: () => number,
) {
  if (start === undefined) throw new Error(`the start offset of ${partitionName(partition)} is unknown`)
  return {
    ...partition,
    start,
    offsets: new OffsetTracker(start.position),
    coverage: new DeletionCoverage(start.coveredAtMs, keptMs),
    changeTimes: new ChangeTimes(start.deadLetteredBelow, {
      watermarkMs: Math.max(claimed.watermarkMs ?? 0, start.promisedMs),
      changedAtRaisedByMs: claimed.changedAtRaisedByMs,
    }),
    /** The claim under which watermarks of the partition are published. */
    owner: claimed.owner,
    /** What this owner has committed last. */
    committed: undefined as Pick<StartOffset, 'position' | 'promisedMs'> | undefined,
    /** The offset from which the next batch must have been fetched. */
    nextOffset: start.position as bigint,
    /** Why the partition is paused: its next record batch cannot be decoded. */
    undecodable: undefined as Undecodable | undefined,
  }
}
