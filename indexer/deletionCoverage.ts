/** The end offset of a partition, and the time (epoch ms) before it was queried. */
type PartitionEnd = { readonly offset: bigint; readonly askedAtMs: number }

/** In place of a time: a deletion may have been missed, and a rebuild is needed. */
export const notCovered = 0

/**
 * The time up to which a partition was read. Compaction may remove a deletion `delete.retention.ms` after it was appended. If reading falls behind by more
 * than that, a deletion may be gone before it is read, and the indices would serve the deleted entity for good.
 */
export class DeletionCoverage {
  /** Epoch ms, or `notCovered`. */
  coveredAtMs: number
  readonly #keptMs: () => number
  /** The oldest known end that is not read yet. */
  #ahead: PartitionEnd | undefined

  /** `coveredAtMs`: epoch ms, at the start offset. `keptMs`: the least time (ms) for which the topic keeps a deletion. */
  constructor(coveredAtMs: number, keptMs: () => number) {
    this.coveredAtMs = coveredAtMs
    this.#keptMs = keptMs
  }

  get mayHaveMissed(): boolean {
    return this.coveredAtMs === notCovered
  }

  /** Notes that every record below `position` is read, and the end of the partition. */
  note(position: bigint, end: PartitionEnd): void {
    if (end.askedAtMs - this.coveredAtMs > this.#keptMs()) this.coveredAtMs = notCovered
    if (this.mayHaveMissed) return
    if (this.#ahead !== undefined && position >= this.#ahead.offset) {
      this.coveredAtMs = this.#ahead.askedAtMs
      this.#ahead = undefined
    }
    if (position >= end.offset) this.coveredAtMs = end.askedAtMs
    // While producers append, the newest end is never reached; this one will be.
    else this.#ahead ??= end
  }
}
