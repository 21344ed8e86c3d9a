import type { Offset } from '../src/core/model/ids.ts'
import type { AssignedPartition } from './assignedPartition.ts'

/** How far a partition has been processed, in one round of `ProgressPublisher`. */
export type PartitionProgress = {
  readonly partition: AssignedPartition
  /** Every record below this offset is processed. */
  readonly position: Offset
  /** Every record that was appended before this time (epoch ms) is below the position; `notCovered` if a deletion may have been missed. */
  readonly coveredUntilMs: number
  /**
   * Whether the log may have been replaced by another one, or its reported end is below an offset that was read. Then this round ignores the end, and publishes
   * no position.
   */
  readonly isDoubted: boolean
}

/**
 * Updates a partition by its end offset `high` (undefined if Kafka does not have the partition), and returns its progress. The caller has done this before:
 * 1. It noted `readBefore`: the records below were read.
 * 2. It read the clocks: `beforeQueryMs` (epoch ms).
 * 3. It queried Kafka for `high`. Every record at or above `high` was appended after `beforeQueryMs`.
 *
 * Once the position reaches `high`, every record that was appended before `beforeQueryMs` is below the position. If `high` is below `readBefore`, the log has
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
 * Once the `coveredUntilMs` of a partition is newer than the committed one by this time (ms), it is committed again, even if no record was processed: the next
 * owner starts with the committed time. Example: the first record in ten days is appended while no indexer runs. With a commit from ten days ago, the next
 * owner would count a deletion as missed.
 */
const maxCommitAgeMs = 1_000

/** Whether there is something to commit: a higher position, a newer `coveredUntilMs`, or that the log counts as replaced. */
export function isCommitDue({ partition, position, coveredUntilMs }: PartitionProgress): boolean {
  const { committed, log } = partition
  if (committed === undefined || position > committed.position) return true
  if (log.isReplaced !== committed.isReplaced) return true
  return coveredUntilMs >= committed.coveredUntilMs + maxCommitAgeMs
}
