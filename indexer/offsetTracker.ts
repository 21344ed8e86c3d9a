import type { Offset } from '../src/core/model/ids.ts'

/** `end`: the position once this record and all earlier ones are processed; above `offset + 1` if offsets after the record are missing. */
export type TrackedRecord = { end: bigint; readonly appendedAtMs: number; isProcessed: boolean }

export type OffsetProgress = {
  /** Every record below this offset is processed. */
  readonly position: Offset
  /** Append time (epoch ms) of the first unprocessed record. */
  readonly oldestUnprocessedAtMs: number | undefined
  /** Append time (epoch ms) of the last record below `position`; undefined while there is none. */
  readonly processedAtMs: number | undefined
}

/** Above this number, entries below the position are removed from memory, even if other entries are left. */
const compactAfter = 1_000

/**
 * Tracks the records of one partition from fetched to processed (indexed, stale or dead-lettered), in any order. The position passes contiguous processed
 * records only. Example: records 0, 1 and 2 are fetched, 0 and 2 are processed: the position is 1. Once 1 is processed, it is 3. Offsets without a record
 * (compaction, transaction markers) do not stop it.
 */
export class OffsetTracker {
  #entries: TrackedRecord[] = []
  #head = 0
  #position: bigint
  #processedAtMs: number | undefined

  constructor(start: Offset) {
    this.#position = start
  }

  /** Adds a record, in order of offsets. Returns its entry, for `markProcessed`. */
  track(offset: Offset, appendedAtMs: number): TrackedRecord {
    const entry = { end: offset + 1n, appendedAtMs, isProcessed: false }
    this.#entries.push(entry)
    return entry
  }

  /** Returns how many records the position passes because of it. */
  markProcessed(entry: TrackedRecord): number {
    entry.isProcessed = true
    return this.#advance()
  }

  /** To be called when every record up to `lastOffset` is tracked: the other offsets up to there have no record, and are passed over. */
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
