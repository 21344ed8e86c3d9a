import { partitionName, type TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import { ChangeTimes, type PartitionClaim } from './changeTimes.ts'
import { DeletionCoverage } from './deletionCoverage.ts'
import { OffsetTracker } from './offsetTracker.ts'
import type { StartOffset } from './startOffsets.ts'

/** A partition that the group coordinator has assigned to this indexer, since the last rebalance. */
export type AssignedPartition = TopicPartition & {
  readonly start: StartOffset
  readonly offsets: OffsetTracker
  readonly coverage: DeletionCoverage
  readonly changeTimes: ChangeTimes
  /** The claim under which watermarks of the partition are published. */
  readonly owner: string
  /** What this owner has committed last. */
  committed?: Pick<StartOffset, 'position' | 'promisedMs'>
  /** The offset from which the next batch must have been fetched. */
  nextOffset: bigint
}

/**
 * Begins to read a partition under a claim. No record of it gets a `changedAt` below a watermark that Redis knows of, or that a commit
 * allowed: Redis may have lost the newest. `keptMs`: how long its topic keeps a deletion for certain.
 */
export function assignPartition(
  partition: TopicPartition,
  start: StartOffset | undefined,
  claimed: PartitionClaim,
  keptMs: () => number,
): AssignedPartition {
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
    owner: claimed.owner,
    nextOffset: start.position,
  }
}

/**
 * The difference between our clock and the brokers', which stamp append times, that changes no `changedAt`. Commits allow watermarks of an
 * idle partition so far ahead, so that it is committed about once in this time.
 */
const allowedSkewMs = 1_000

/**
 * The progress of a partition, and its watermark (epoch ms): every record with an earlier `changedAt` is processed, and no record that is
 * read from now on gets an earlier one. `high` is its end, asked for after the clocks read `askedAtMs`. The watermark is undefined when
 * nothing is known, and never in the future, whatever the brokers' clocks read:
 * - Behind: `changedAt` of the first unprocessed record.
 * - At the end: `askedAtMs`, less `allowedSkewMs`, so that clocks that agree to that much leave append times as they are.
 * - Otherwise: `changedAt` of the last processed record.
 */
export function decideWatermark(of: AssignedPartition, high: bigint | undefined, askedAtMs: number) {
  const { changeTimes, coverage, offsets, start } = of
  const { position, oldestUnprocessedAtMs, processedAtMs } = offsets.progress()
  const isAtEnd = high !== undefined && oldestUnprocessedAtMs === undefined && position >= high
  const known = isAtEnd ? askedAtMs - allowedSkewMs : (oldestUnprocessedAtMs ?? processedAtMs)
  const watermarkMs = known === undefined ? undefined : Math.min(known, askedAtMs)
  if (watermarkMs !== undefined) changeTimes.watermarkDecided(watermarkMs)
  if (high !== undefined) coverage.note(position, { offset: high, askedAtMs })
  // A commit allows no watermark above a record that was read and is not processed: the next owner would date the record at that watermark.
  const promisedMs = Math.max(start.promisedMs, isAtEnd ? askedAtMs : (watermarkMs ?? 0))
  return { of, position, watermarkMs, promisedMs, coveredAtMs: coverage.coveredAtMs }
}
