import type { Offset } from '../src/core/model/ids.ts'

/** A record. `end`: the next offset that may hold another one. */
type Entry = { end: bigint; readonly appendedAtMs: number; isProcessed: boolean }

/** Passed entries are removed once there are so many. */
const compactAfter = 1_000

/**
 * Tracks the records of one partition from fetched to processed (indexed, stale or dead-lettered), in any order. Offsets have gaps
 * (compaction, transaction markers), so the position also advances to the end of every batch.
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

  /** Adds a record, in the order of offsets. The returned function marks it as processed; it returns how many records the position passed. */
  track(offset: Offset, appendedAtMs: number): () => number {
    const entry = { end: offset + 1n, appendedAtMs, isProcessed: false }
    this.#entries.push(entry)
    return () => {
      entry.isProcessed = true
      return this.#advance()
    }
  }

  /** No records but the tracked ones lie at or below `lastOffset`. */
  endBatch(lastOffset: Offset): void {
    const end = lastOffset + 1n
    const last = this.#entries.at(-1)
    if (last === undefined) this.#moveTo(end)
    else if (end > last.end) last.end = end
  }

  progress() {
    return {
      /** The contiguous processed offset: every record below it is processed. */
      position: this.#position as Offset,
      /** Append time of the first record that is not processed; undefined when all are. */
      oldestUnprocessedAtMs: this.#entries[this.#head]?.appendedAtMs,
      /** Append time of the last record below `position`; undefined before the first. */
      processedAtMs: this.#processedAtMs,
    }
  }

  #moveTo(position: bigint): void {
    if (position > this.#position) this.#position = position
  }

  /** Passes the processed records at the head; returns how many. */
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
