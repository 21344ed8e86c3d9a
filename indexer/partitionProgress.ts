import type { Offset } from '../src/core/model/ids.ts'
import type { AssignedPartition } from './assignedPartition.ts'

export type PartitionProgress = {
  readonly partition: AssignedPartition
  readonly position: Offset
  /** Every record that was appended before this time (epoch ms) is below the position; `notCovered` if a deletion may have been missed. */
  readonly coveredUntilMs: number
  /** Whether the log may have been replaced, or ends below an offset that was read. Then the end is ignored, and no position is published. */
  readonly isDoubted: boolean
}

/**
 * Updates a partition by its end offset `high` (undefined if Kafka does not have the partition), and returns its progress:
 * 1. The clocks were read: `beforeQueryMs` (epoch ms).
 * 2. Kafka was queried for `high`: every record at or above it was appended after `beforeQueryMs`.
 * 3. Once the position reaches `high`, every record that was appended before `beforeQueryMs` is below the position.
 *
 * The records below `readBefore` were read before step 2. If `high` is lower, the log has lost its end, or a former leader has answered.
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
 * The commit of an idle partition is renewed once its `coveredUntilMs` is older than this (ms), since a new owner starts with this time. Example: the first
 * record in ten days is appended while no indexer runs. With a commit from ten days ago, the new owner would count a deletion as missed.
 */
const commitAgeMs = 1_000

export function isCommitDue({ partition, position, coveredUntilMs }: PartitionProgress): boolean {
  const { committed, log } = partition
  if (committed === undefined || position > committed.position) return true
  return coveredUntilMs >= committed.coveredUntilMs + commitAgeMs || log.isReplaced !== committed.isReplaced
}
