import type { Offset } from '../src/core/model/ids.ts'

/** How far a partition is processed. */
export type Progress = {
  /** The contiguous processed offset: every record below it is processed. */
  readonly position: Offset
  /** `changedAt` of the first record that is not processed. */
  readonly oldestUnprocessedAtMs: number | undefined
  /** `changedAt` of the last record below `position`. */
  readonly processedAtMs: number | undefined
}

type Entry = { readonly offset: bigint; readonly changedAtMs: number; isProcessed: boolean }

/** A batch end is no record and has no `changedAt`. */
const noChangeTime = Number.NaN
/** The processed entries at the head of the list are removed once there are so many. */
const compactAfter = 1_000

/**
 * Tracks the records of one partition from fetched to processed (indexed, stale or dead-lettered). Records may be processed in
 * any order; the position covers only the contiguous ones. Offsets have gaps (compaction, transaction markers), so the position
 * also advances to the end of every batch.
 */
export class OffsetTracker {
  #entries: Entry[] = []
  #head = 0
  #position: bigint
  #processedAtMs: number | undefined

  /** `start`: the offset at which reading begins. */
  constructor(start: Offset) {
    this.#position = start
  }

  /** Adds a fetched record, in the order of offsets. The returned function marks the record as processed. */
  track(offset: Offset, changedAtMs: number): () => void {
    const entry = { offset, changedAtMs, isProcessed: false }
    this.#entries.push(entry)
    return () => {
      entry.isProcessed = true
    }
  }

  /** Notes the end of a batch: no records but the tracked ones lie at or below `lastOffset`. */
  endBatch(lastOffset: Offset): void {
    this.#entries.push({ offset: lastOffset, changedAtMs: noChangeTime, isProcessed: true })
  }

  progress(): Progress {
    let entry = this.#entries[this.#head]
    while (entry?.isProcessed) {
      if (entry.offset >= this.#position) this.#position = entry.offset + 1n
      if (!Number.isNaN(entry.changedAtMs)) this.#processedAtMs = entry.changedAtMs
      this.#head++
      entry = this.#entries[this.#head]
    }
    if (this.#head > compactAfter || entry === undefined) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
    return {
      position: this.#position as Offset,
      oldestUnprocessedAtMs: entry?.changedAtMs,
      processedAtMs: this.#processedAtMs,
    }
  }
}

/**
 * The watermark of one partition (epoch ms): every record with an earlier `changedAt` is processed, and `ChangeTimes` gives no later
 * record an earlier one. Undefined when nothing is known.
 * - Behind: `changedAt` of the first unprocessed record.
 * - Caught up with an end offset that was requested after the clocks read `askedAtMs`: that reading, less `allowedSkewMs`, so that
 *   clocks that agree to that much leave append times as they are.
 * - Otherwise: `changedAt` of the last processed record.
 */
export function partitionWatermark(
  progress: Progress,
  end: { readonly offset: bigint; readonly askedAtMs: number } | undefined,
  allowedSkewMs: number,
): number | undefined {
  if (progress.oldestUnprocessedAtMs !== undefined) return progress.oldestUnprocessedAtMs
  const isCaughtUp = end !== undefined && progress.position >= end.offset
  return isCaughtUp ? end.askedAtMs - allowedSkewMs : progress.processedAtMs
}
