import type { Offset } from '../src/core/model/ids.ts'

/** How far a partition has come. */
export type Progress = {
  /** Every record below is settled. */
  readonly position: Offset
  /** Append time of the first record that is not settled. */
  readonly oldestUnprocessedAtMs: number | undefined
  /** Append time of the last record of the settled prefix. */
  readonly processedAtMs: number | undefined
}

type Entry = { readonly offset: bigint; readonly appendedAtMs: number; settled: boolean }

/**
 * The records of one partition between fetched and settled (acknowledged, stale or dead-lettered). Records settle in any
 * order; only the contiguous settled prefix counts. Offsets have gaps (compaction, transaction markers), so the position
 * also advances over what `passed` names.
 */
export class OffsetTracker {
  #entries: Entry[] = []
  #head = 0
  #position: bigint
  #processedAtMs: number | undefined

  /** `start`: where reading begins. */
  constructor(start: Offset) {
    this.#position = start
  }

  /** Notes a fetched record, in the order of offsets; call the result once it is settled. */
  add(offset: Offset, appendedAtMs: number): () => void {
    const entry = { offset, appendedAtMs, settled: false }
    this.#entries.push(entry)
    return () => {
      entry.settled = true
    }
  }

  /** Notes that nothing but the records added so far lies at or below `lastOffset`. */
  passed(lastOffset: Offset): void {
    this.#entries.push({ offset: lastOffset, appendedAtMs: Number.NaN, settled: true })
  }

  progress(): Progress {
    let entry = this.#entries[this.#head]
    while (entry?.settled) {
      if (entry.offset >= this.#position) this.#position = entry.offset + 1n
      if (!Number.isNaN(entry.appendedAtMs)) this.#processedAtMs = entry.appendedAtMs
      this.#head++
      entry = this.#entries[this.#head]
    }
    if (this.#head > 1_000 || entry === undefined) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
    return {
      position: this.#position as Offset,
      oldestUnprocessedAtMs: entry?.appendedAtMs,
      processedAtMs: this.#processedAtMs,
    }
  }
}

/**
 * Everything appended to the partition before the result (epoch ms) is settled; undefined when that is not known.
 * Behind: the append time of the first record not settled. Caught up with the end that was asked for after `askedAtMs` was
 * read from this clock: that reading, less the skew allowed between our clock and the broker's. Else: the last settled.
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
