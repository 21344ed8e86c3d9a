import type { AssignedPartition } from './assignedPartition.ts'

/** A partition as one round of publishing sees it. */
export type PartitionProgress = ReturnType<typeof decideWatermark>

/**
 * The difference between our clock and the brokers', which stamp append times, that changes no `changedAt`. Commits allow watermarks of an
 * idle partition so far ahead, so that it is committed about once in this time.
 */
const allowedSkewMs = 1_000

/**
 * The progress of a partition, and its watermark (epoch ms): every record with an earlier `changedAt` is processed, and no record that is
 * read from now on gets an earlier one. `high` is its end, asked for after the clocks read `askedAtMs`, when everything below `readBefore` had
 * been read. The watermark is undefined when
 * nothing is known, and never in the future, whatever the brokers' clocks read:
 * - Behind: append time of the first unprocessed record. Its `changedAt` may be later: a former owner, whose writes may still arrive, may
 *   have dated it and what follows it earlier than we do.
 * - At the end: `askedAtMs`, less `allowedSkewMs`, so that clocks that agree to that much leave append times as they are.
 * - Otherwise: append time of the last processed record.
 * - None, and nothing else is concluded, while the end is below what was read, or the log is doubted (`ReadLog`): another log may be in its place.
 */
export function decideWatermark(
  of: AssignedPartition,
  high: bigint | undefined,
  askedAtMs: number,
  readBefore: bigint,
) {
  const { changeTimes, coverage, offsets, start } = of
  const { position, oldestUnprocessedAtMs, processedAtMs } = offsets.progress()
  const isDoubted = of.log.isDoubted || (high !== undefined && high < readBefore)
  if (isDoubted) {
    const { promisedMs } = of.committed ?? start
    return { of, position, isDoubted, watermarkMs: undefined, promisedMs, coveredAtMs: coverage.coveredAtMs }
  }
  if (high !== undefined) of.visible.noteEnd(high)
  const isAtEnd = high !== undefined && oldestUnprocessedAtMs === undefined && position >= high
  const known = isAtEnd ? askedAtMs - allowedSkewMs : (oldestUnprocessedAtMs ?? processedAtMs)
  const watermarkMs = known === undefined ? undefined : Math.min(known, askedAtMs)
  if (watermarkMs !== undefined) changeTimes.watermarkDecided(watermarkMs)
  if (high !== undefined) coverage.note(position, { offset: high, askedAtMs })
  const promisedMs = Math.max((of.committed ?? start).promisedMs, isAtEnd ? askedAtMs : (watermarkMs ?? 0))
  return { of, position, isDoubted, watermarkMs, promisedMs, coveredAtMs: coverage.coveredAtMs }
}

/** Whether the last commit of a partition says less than is known now. */
export function hasNews({ of, position, watermarkMs = 0 }: PartitionProgress): boolean {
  const { committed, log } = of
  if (committed === undefined || position > committed.position || watermarkMs > committed.promisedMs) return true
  return log.isReplaced !== committed.isReplaced
}
