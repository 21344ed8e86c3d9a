/** An end offset that was queried after `beforeQueryMs` (epoch ms): every record at or above it was appended later. */
type PartitionEnd = { readonly offset: bigint; readonly beforeQueryMs: number }

/** In place of a time: a deletion may have been missed, so that a rebuild (of account keys: a replay) is needed. */
export const notCovered = 0

/**
 * Determines whether a deletion may have been missed. Compaction may remove it `delete.retention.ms` after its append. If reading falls behind by more, the
 * indices may serve the deleted entity for good: `coveredUntilMs` becomes `notCovered`.
 */
export class DeletionCoverage {
  /** Every record appended before this time (epoch ms) was read; or `notCovered`. */
  coveredUntilMs: number
  readonly #keptMs: () => number
  /** An earlier end that the position has not reached yet. Later ends do not replace it. */
  #unreachedEnd: PartitionEnd | undefined

  /** `keptMs`: the least time (ms) from the append of a deletion until compaction may remove it. The topic's setting may change. */
  constructor(coveredUntilMs: number, keptMs: () => number) {
    this.coveredUntilMs = coveredUntilMs
    this.#keptMs = keptMs
  }

  get mayHaveMissed(): boolean {
    return this.coveredUntilMs === notCovered
  }

  /** Every record below `position` was read; `end` was queried just now. */
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
