import type { Offset } from '../src/core/model/ids.ts'

/** A tracked record. `end`: the position once this record and all before it are processed. */
type Entry = { end: bigint; readonly appendedAtMs: number; isProcessed: boolean }

export type OffsetProgress = {
  /** Every record below this offset is processed. */
  readonly position: Offset
  /** Append time (epoch ms) of the first record that is not processed; undefined if all are. */
  readonly oldestUnprocessedAtMs: number | undefined
  /** Append time (epoch ms) of the last record below `position`; undefined before the first record is processed. */
  readonly processedAtMs: number | undefined
}

/** Entries below the position are removed from memory once there are so many. */
const compactAfter = 1_000

/**
 * Tracks the records of one partition from fetched to processed (indexed, stale or dead-lettered), in any order. The position advances over contiguous
 * processed records, and over gaps between offsets (compaction, transaction markers) to the end of each batch.
 */
export class OffsetTracker {
  #entries: Entry[] = []
  #head = 0
  #position: bigint
  #processedAtMs: number | undefined

  constructor(start: Offset) {
    this.#position = start
  }

  /** Adds a record, in order of offsets. The returned function marks it as processed, and returns how many records the position passes thereby. */
  track(offset: Offset, appendedAtMs: number): () => number {
    const entry = { end: offset + 1n, appendedAtMs, isProcessed: false }
    this.#entries.push(entry)
    return () => {
      entry.isProcessed = true
      return this.#advance()
    }
  }

  /** Notes the end of a batch: every record up to `lastOffset` is tracked, and the other offsets are gaps. */
  endBatch(lastOffset: Offset): void {
    const end = lastOffset + 1n
    const last = this.#entries.at(-1)
    if (last === undefined) this.#moveTo(end)
    else if (end > last.end) last.end = end
  }

  progress(): OffsetProgress {
    return {
      position: this.#position as Offset,
      oldestUnprocessedAtMs: this.#entries[this.#head]?.appendedAtMs,
      processedAtMs: this.#processedAtMs,
    }
  }

  #moveTo(position: bigint): void {
    if (position > this.#position) this.#position = position
  }

  /** Advances the position over the processed records at the head, and returns their number. */
  #advance(): number {
    const from = this.#head
    for (let entry = this.#entries[from]; entry?.isProcessed; entry = this.#entries[this.#head]) {
      this.#moveTo(entry.end)
      this.#processedAtMs = entry.appendedAtMs
      this.#head++
    }
    const passed = this.#head - from
    if (this.#head > compactAfter || this.#head === this.#entries.length) {
      this.#entries = this.#entries.slice(this.#head)
      this.#head = 0
    }
    return passed
  }
}
