import type { Offset } from '../src/core/model/ids.ts'

/** `end`: the position once this record and all earlier ones are processed; above the next offset if that has no record. */
export type TrackedRecord = { end: bigint; readonly appendedAtMs: number; isProcessed: boolean }

export type OffsetProgress = {
  /** Every record below is processed. */
  readonly position: Offset
  /** Append time (epoch ms) of the first unprocessed record, if there is one. */
  readonly oldestUnprocessedAtMs: number | undefined
  /** Append time (epoch ms) of the last record below `position`, if there is one. */
  readonly processedAtMs: number | undefined
}

/** Removing each processed record at once would copy the others every time. */
const maxProcessedRecords = 1_000

/**
 * Tracks the records of one partition. They are processed in any order, but the position passes contiguous ones only: of records 0, 1 and 2, if 0 and 2 are
 * processed, the position is 1. Offsets without a record (compaction, transaction markers) do not stop it.
 */
export class OffsetTracker {
  /** In order of offsets. The records before index `#firstUnprocessed` are processed. */
  #records: TrackedRecord[] = []
  #firstUnprocessed = 0
  #position: bigint
  #processedAtMs: number | undefined

  constructor(start: Offset) {
    this.#position = start
  }

  track(offset: Offset, appendedAtMs: number): TrackedRecord {
    const record = { end: offset + 1n, appendedAtMs, isProcessed: false }
    this.#records.push(record)
    return record
  }

  /** Returns how many records the position passes now. */
  markProcessed(record: TrackedRecord): number {
    record.isProcessed = true
    return this.#advance()
  }

  /** To be called when every record up to `lastOffset` is tracked: the position passes the other offsets. */
  endBatch(lastOffset: Offset): void {
    const end = lastOffset + 1n
    const lastRecord = this.#records.at(-1)
    if (lastRecord === undefined) this.#moveTo(end)
    else if (end > lastRecord.end) lastRecord.end = end
  }

  progress(): OffsetProgress {
    return {
      position: this.#position as Offset,
      oldestUnprocessedAtMs: this.#records[this.#firstUnprocessed]?.appendedAtMs,
      processedAtMs: this.#processedAtMs,
    }
  }

  #moveTo(position: bigint): void {
    if (position > this.#position) this.#position = position
  }

  #advance(): number {
    const firstBefore = this.#firstUnprocessed
    let next = this.#records[firstBefore]
    while (next?.isProcessed) {
      this.#moveTo(next.end)
      this.#processedAtMs = next.appendedAtMs
      this.#firstUnprocessed++
      next = this.#records[this.#firstUnprocessed]
    }
    const passedCount = this.#firstUnprocessed - firstBefore
    if (this.#firstUnprocessed > maxProcessedRecords || next === undefined) {
      this.#records = this.#records.slice(this.#firstUnprocessed)
      this.#firstUnprocessed = 0
    }
    return passedCount
  }
}
