import type { Offset } from '../src/core/model/ids.ts'
import type { AssignedPartition } from './assignedPartition.ts'

/** How far a partition was processed, in one round of `ProgressPublisher`. */
export type PartitionProgress = {
  readonly partition: AssignedPartition
  readonly position: Offset
  /** Every record appended before this time (epoch ms) is below the position; `notCovered` if a deletion may have been missed. */
  readonly coveredUntilMs: number
  /** Whether the log may have been replaced, or its reported end is below an offset that was read. Then no position is published. */
  readonly isDoubted: boolean
}

/**
 * Updates a partition by its end offset `high` (undefined if Kafka does not have the partition), and returns its progress. The caller must first note
 * `readBefore`, below which every record was read, then the time `beforeQueryMs` (epoch ms), then query `high`. If `high` is below `readBefore`, the log has
 * lost its end, or a former leader has answered.
 */
export function progressOf(
  partition: AssignedPartition,
  high: bigint | undefined,
  beforeQueryMs: number,
  readBefore: bigint,
): PartitionProgress {
  const { coverage, log, offsets, visible } = partition
  const { position } = offsets.progress()
  const isDoubted = log.isDoubted || (high !== undefined && high < readBefore)
  if (!isDoubted && high !== undefined) {
    visible.noteEnd(high)
    coverage.advance(position, { offset: high, beforeQueryMs })
  }
  return { partition, position, coveredUntilMs: coverage.coveredUntilMs, isDoubted }
}

/**
 * A `coveredUntilMs` newer by this time (ms) is committed, even if no record was processed. Otherwise, if the first record in ten days were appended while no
 * indexer runs, the next owner would count a deletion as missed.
 */
const maxCommitAgeMs = 1_000

export function isCommitDue({ partition, position, coveredUntilMs }: PartitionProgress): boolean {
  const { committed, log } = partition
  if (committed === undefined || position > committed.position) return true
  if (log.isReplaced !== committed.isReplaced) return true
  return coveredUntilMs >= committed.coveredUntilMs + maxCommitAgeMs
}
