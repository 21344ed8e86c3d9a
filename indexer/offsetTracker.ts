import type { Offset } from '../src/core/model/ids.ts'

/** A tracked record. `end`: the position once this record and all earlier ones are processed. It is above `offset + 1` if offsets are missing after it. */
type Entry = { end: bigint; readonly appendedAtMs: number; isProcessed: boolean }

export type OffsetProgress = {
  /** Every record below this offset is processed. */
  readonly position: Offset
  /** Append time (epoch ms) of the first record that is not processed; undefined if all are. */
  readonly oldestUnprocessedAtMs: number | undefined
  /** Append time (epoch ms) of the last record below `position`; undefined until the position has passed a record. */
  readonly processedAtMs: number | undefined
}

/** Once more entries than this are below the position, they are removed from memory; before that, only when every entry is processed. */
const compactAfter = 1_000

/**
 * Tracks the records of one partition from fetched to processed (indexed, stale or dead-lettered), in any order. The position advances over contiguous
 * processed records only. Example: records 0, 1 and 2 are fetched, and 0 and 2 are processed: the position is 1. Once 1 is processed, it is 3. Offsets
 * that have no record (compaction, transaction markers) do not stop the position.
 */
export class OffsetTracker {
  #entries: Entry[] = []
  #head = 0
  #position: bigint
  #processedAtMs: number | undefined

  constructor(start: Offset) {
    this.#position = start
  }

  /** Adds a record, in order of offsets. Returns a function that marks it as processed, and returns how many records the position has passed by that. */
  track(offset: Offset, appendedAtMs: number): () => number {
    const entry = { end: offset + 1n, appendedAtMs, isProcessed: false }
    this.#entries.push(entry)
    return () => {
      entry.isProcessed = true
      return this.#advance()
    }
  }

  /** Notes the end of a batch: every record up to `lastOffset` is tracked. Offsets up to it that are not tracked have no record, and are passed over. */
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
