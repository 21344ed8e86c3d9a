/** The end offset of a partition, as Kafka reported it after `beforeQueryMs` (epoch ms): every record at or above `offset` was appended later than that. */
type PartitionEnd = { readonly offset: bigint; readonly beforeQueryMs: number }

/** In place of a time: a deletion may have been missed, so that a rebuild (of account keys: a replay) is needed. */
export const notCovered = 0

/**
 * Determines whether a deletion may have been missed in a partition. Compaction may remove a deletion `delete.retention.ms` after its append. If reading falls
 * behind by more, a deletion may be gone before it was read, and the indices would serve the deleted entity for good. Then `coveredUntilMs` becomes
 * `notCovered`.
 */
export class DeletionCoverage {
  /** Every record that was appended to the partition before this time (epoch ms) has been read; or `notCovered`. */
  coveredUntilMs: number
  readonly #keptMs: () => number
  /** An earlier end that the position has not reached yet. Later ends do not replace it until then. */
  #unreachedEnd: PartitionEnd | undefined

  /** `keptMs`: the least time (ms) from the append of a deletion until compaction may remove it. A function, as the setting of the topic may change. */
  constructor(coveredUntilMs: number, keptMs: () => number) {
    this.coveredUntilMs = coveredUntilMs
    this.#keptMs = keptMs
  }

  /** Whether a deletion may have been missed. */
  get mayHaveMissed(): boolean {
    return this.coveredUntilMs === notCovered
  }

  /** Advances `coveredUntilMs`. Every record below `position` has been read; `end` was queried just now. */
  advance(position: bigint, end: PartitionEnd): void {
    if (end.beforeQueryMs - this.coveredUntilMs > this.#keptMs()) this.coveredUntilMs = notCovered
    if (this.mayHaveMissed) return
    const earlierEnd = this.#unreachedEnd
    if (earlierEnd !== undefined && position >= earlierEnd.offset) {
      this.coveredUntilMs = earlierEnd.beforeQueryMs
      this.#unreachedEnd = undefined
    }
    if (position >= end.offset) this.coveredUntilMs = end.beforeQueryMs
    // While producers append, the position may never reach the newest end, but it reaches an earlier one.
    else this.#unreachedEnd ??= end
  }
}
