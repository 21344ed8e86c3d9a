/** The end offset of a partition. `askedAtMs`: a time (epoch ms) before the query; every record at or above the end was appended later. */
type PartitionEnd = { readonly offset: bigint; readonly askedAtMs: number }

/** Instead of a time: a deletion may have been missed, and a rebuild (of account keys: a replay) is needed. */
export const notCovered = 0

/**
 * The time up to which a partition was read: every record that was appended before it was read. Compaction may remove a deletion `delete.retention.ms`
 * after it was appended. If reading falls behind by more than that, a deletion may be gone before it is read, and the indices would serve the deleted
 * entity for good. So from then on the coverage is `notCovered`.
 */
export class DeletionCoverage {
  /** Epoch ms, or `notCovered`. */
  coveredAtMs: number
  readonly #keptMs: () => number
  /** An end that the position has not reached yet: the first one that was noted since the last such end was reached. */
  #ahead: PartitionEnd | undefined

  /** `coveredAtMs`: epoch ms, of the start offset, or `notCovered`. `keptMs`: the least time (ms) until compaction may remove a deletion. */
  constructor(coveredAtMs: number, keptMs: () => number) {
    this.coveredAtMs = coveredAtMs
    this.#keptMs = keptMs
  }

  get mayHaveMissed(): boolean {
    return this.coveredAtMs === notCovered
  }

  /** Notes the end of the partition, and that every record below `position` is read. */
  note(position: bigint, end: PartitionEnd): void {
    if (end.askedAtMs - this.coveredAtMs > this.#keptMs()) this.coveredAtMs = notCovered
    if (this.mayHaveMissed) return
    if (this.#ahead !== undefined && position >= this.#ahead.offset) {
      this.coveredAtMs = this.#ahead.askedAtMs
      this.#ahead = undefined
    }
    if (position >= end.offset) this.coveredAtMs = end.askedAtMs
    // While producers append, the position never reaches the newest end. It will reach this one, which then gives the time.
    else this.#ahead ??= end
  }
}
