import type { Offset } from '../src/core/model/ids.ts'
import type { AssignedPartition } from './assignedPartition.ts'

export type PartitionProgress = {
  readonly partition: AssignedPartition
  readonly position: Offset
  /** Every record that was appended before this time (epoch ms) is below the position; `notCovered` (0) if a deletion may have been missed. */
  readonly coveredAtMs: number
  /** Whether the log may have been replaced (`ReadLog`) or ends below an offset that was read. If so, its end is ignored, and no position is published. */
  readonly isDoubted: boolean
}

/**
 * The progress of a partition, and an update of its state by a query of its end:
 * 1. The clocks are read: `askedAtMs` (epoch ms).
 * 2. Kafka is queried for the end offset, `high`; undefined if Kafka does not have the partition.
 * 3. A record at or above `high` was appended after `askedAtMs`. So once the position has reached `high`, everything that was appended before
 *    `askedAtMs` is below the position.
 *
 * `readBefore`: the records below this offset were read before the query. If `high` is lower, the log has lost its end, or a former leader has answered.
 */
export function progressOf(
  partition: AssignedPartition,
  high: bigint | undefined,
  askedAtMs: number,
  readBefore: bigint,
): PartitionProgress {
  const { coverage, log, offsets, visible } = partition
  const { position } = offsets.progress()
  const isDoubted = log.isDoubted || (high !== undefined && high < readBefore)
  if (!isDoubted && high !== undefined) {
    visible.noteEnd(high)
    coverage.note(position, { offset: high, askedAtMs })
  }
  return { partition, position, coveredAtMs: coverage.coveredAtMs, isDoubted }
}

/**
 * The commit of an idle partition is renewed once its `coveredAtMs` is older than this (ms). A new owner starts with that time. Example: the first record in
 * ten days is appended while no indexer runs. With a commit from ten days ago, the new owner would count a deletion as missed.
 */
const commitAgeMs = 1_000

/** Whether to commit the progress: since the last commit of this owner, the position has advanced, the time by `commitAgeMs`, or the log was replaced. */
export function hasNews({ partition, position, coveredAtMs }: PartitionProgress): boolean {
  const { committed, log } = partition
  if (committed === undefined || position > committed.position) return true
  return coveredAtMs >= committed.coveredAtMs + commitAgeMs || log.isReplaced !== committed.isReplaced
}
