import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { ChangeTimes, type PartitionClaim } from './changeTimes.ts'
import type { StartOffset } from './committedOffsets.ts'
import { Coverage } from './coverage.ts'
import { OffsetTracker } from './offsetTracker.ts'

/** A partition that the group coordinator has assigned to this indexer, since the last rebalance. */
export type AssignedPartition = TopicPartition & {
  readonly start: StartOffset
  readonly offsets: OffsetTracker
  readonly coverage: Coverage
  readonly changeTimes: ChangeTimes
  /** The claim under which watermarks of the partition are published. */
  readonly owner: string
}

/** The same, as its consumer reads it. */
export type OwnedPartition = AssignedPartition & {
  /** The offset from which the next batch must have been fetched. */
  nextOffset: bigint
}

/**
 * Begins to read a partition under a claim, at one of `starts` (by `partitionName`). No record of it gets a `changedAt` below a watermark that
 * Redis knows of, or that a commit allowed: Redis may have lost the newest. `keptMs`: how long its topic keeps a deletion for certain.
 */
export function ownPartition(
  partition: TopicPartition,
  starts: ReadonlyMap<string, StartOffset>,
  claimed: PartitionClaim,
  keptMs: () => number,
): OwnedPartition {
  const name = partitionName(partition)
  const start = starts.get(name)
  if (start === undefined) throw new Error(`the start offset of ${name} is not known`)
  return {
    ...partition,
    start,
    offsets: new OffsetTracker(start.position),
    coverage: new Coverage(start.coveredAtMs, keptMs),
    changeTimes: new ChangeTimes(start.deadLetteredBelow, {
      watermarkMs: Math.max(claimed.watermarkMs ?? 0, start.promisedMs),
      changedAtRaisedByMs: claimed.changedAtRaisedByMs,
    }),
    owner: claimed.owner,
    nextOffset: start.position,
  }
}
