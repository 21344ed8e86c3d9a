import type { Offset } from '../src/core/model/ids.ts'
import type { AssignedPartition } from './assignedPartition.ts'

/** A partition as one round of publishing sees it. */
export type PartitionProgress = {
  readonly of: AssignedPartition
  /** Every record below is processed. */
  readonly position: Offset
  /** Everything that was appended before this time (epoch ms) is below the position; 0 if it may lack a deletion. */
  readonly coveredAtMs: number
  /** The log may be another one than was read (`ReadLog`), or its end is below what was read: nothing is concluded from it. */
  readonly isDoubted: boolean
}

/**
 * The progress of a partition. `high` is its end, asked for after the clocks read `askedAtMs`, when everything below `readBefore` had been read:
 * once the position has reached that end, everything that was appended before `askedAtMs` is below it.
 */
export function progressOf(
  of: AssignedPartition,
  high: bigint | undefined,
  askedAtMs: number,
  readBefore: bigint,
): PartitionProgress {
  const { coverage, log, offsets, visible } = of
  const { position } = offsets.progress()
  const isDoubted = log.isDoubted || (high !== undefined && high < readBefore)
  if (!isDoubted && high !== undefined) {
    visible.noteEnd(high)
    coverage.note(position, { offset: high, askedAtMs })
  }
  return { of, position, coveredAtMs: coverage.coveredAtMs, isDoubted }
}

/** How old the time in the last commit of an idle partition may get: a new owner begins to judge by it whether a deletion was missed. */
const commitAgeMs = 1_000

/** Whether the last commit of a partition says less than is known now. */
export function hasNews({ of, position, coveredAtMs }: PartitionProgress): boolean {
  const { committed, log } = of
  if (committed === undefined || position > committed.position) return true
  return coveredAtMs >= committed.coveredAtMs + commitAgeMs || log.isReplaced !== committed.isReplaced
}
