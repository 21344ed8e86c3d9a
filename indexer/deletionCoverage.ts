/** The end offset of a partition. `beforeQueryMs`: a time (epoch ms) before Kafka was queried: every record at or above the end was appended later. */
type PartitionEnd = { readonly offset: bigint; readonly beforeQueryMs: number }

/** In place of a time: a deletion may have been missed, so that a rebuild (of account keys: a replay) is needed. */
export const notCovered = 0

/**
 * A time: every record that was appended to the partition before this time has been read. Compaction may remove a deletion `delete.retention.ms` after its
 * append. If reading falls behind by more, a deletion may be gone unread, and the indices would serve the deleted entity for good. So the time becomes
 * `notCovered`.
 */
export class DeletionCoverage {
  /** Epoch ms, or `notCovered`. */
  coveredUntilMs: number
  readonly #keptMs: () => number
  /** The end that the position must reach to advance `coveredUntilMs`. Later ends do not replace it until then. */
  #ahead: PartitionEnd | undefined

  /** `keptMs`: the least time (ms) from the append of a deletion until compaction may remove it. */
  constructor(coveredUntilMs: number, keptMs: () => number) {
    this.coveredUntilMs = coveredUntilMs
    this.#keptMs = keptMs
  }

  get mayHaveMissed(): boolean {
    return this.coveredUntilMs === notCovered
  }

  /** `position`: every record below `position` has been read. */
  advance(position: bigint, end: PartitionEnd): void {
    if (end.beforeQueryMs - this.coveredUntilMs > this.#keptMs()) this.coveredUntilMs = notCovered
    if (this.mayHaveMissed) return
    if (this.#ahead !== undefined && position >= this.#ahead.offset) {
      this.coveredUntilMs = this.#ahead.beforeQueryMs
      this.#ahead = undefined
    }
    if (position >= end.offset) this.coveredUntilMs = end.beforeQueryMs
    // While producers append, the position never reaches the newest end, but it reaches `#ahead`.
    else this.#ahead ??= end
  }
}
