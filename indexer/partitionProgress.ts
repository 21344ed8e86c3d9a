import type { Offset } from '../src/core/model/ids.ts'
import type { AssignedPartition } from './assignedPartition.ts'

export type PartitionProgress = {
  readonly partition: AssignedPartition
  readonly position: Offset
  /** Every record that was appended before this time (epoch ms) is below the position; 0 if a deletion may have been missed. */
  readonly coveredAtMs: number
  /** The log may have been replaced (`ReadLog`), or it ends below an offset that was read: its end and times are not used. */
  readonly isDoubted: boolean
}

/**
 * The progress of a partition. `high`: its end offset, queried after the clocks were read (`askedAtMs`). Once the position has reached `high`, every
 * record that was appended before `askedAtMs` is below the position. `readBefore`: the records below this offset were read before that query.
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

/** The greatest age of the time in the commit of an idle partition. A new owner decides by that time whether a deletion was missed. */
const commitAgeMs = 1_000

/** Whether the progress of a partition is to be committed: its position, its time or the state of its log has changed. */
export function hasNews({ partition, position, coveredAtMs }: PartitionProgress): boolean {
  const { committed, log } = partition
  if (committed === undefined || position > committed.position) return true
  return coveredAtMs >= committed.coveredAtMs + commitAgeMs || log.isReplaced !== committed.isReplaced
}
