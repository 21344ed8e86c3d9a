/** The end offset of a partition, and what the clocks read (epoch ms) before it was asked for. */
type PartitionEnd = { readonly offset: bigint; readonly askedAtMs: number }

/** In place of a time: a deletion may have been missed, until another generation is built. */
export const notCovered = 0

/**
 * The time before which everything that was appended to a partition has been read into the indices. A topic keeps a deletion for a certain
 * time only: Kafka may have forgotten one that is to be read later, and the indices go on serving what was deleted.
 */
export class DeletionCoverage {
  coveredAtMs: number
  readonly #keptMs: () => number
  /** Once this end is read, everything that was appended before its `askedAtMs` is read. */
  #ahead: PartitionEnd | undefined

  /** `coveredAtMs` (epoch ms): when reading begins. `keptMs`: how long the topic keeps a deletion for certain. */
  constructor(coveredAtMs: number, keptMs: () => number) {
    this.coveredAtMs = coveredAtMs
    this.#keptMs = keptMs
  }

  get mayHaveMissed(): boolean {
    return this.coveredAtMs === notCovered
  }

  /** Notes that every record below `position` is read. */
  note(position: bigint, end: PartitionEnd): void {
    if (end.askedAtMs - this.coveredAtMs > this.#keptMs()) this.coveredAtMs = notCovered
    if (this.mayHaveMissed) return
    if (this.#ahead !== undefined && position >= this.#ahead.offset) {
      this.coveredAtMs = this.#ahead.askedAtMs
      this.#ahead = undefined
    }
    if (position >= end.offset) this.coveredAtMs = end.askedAtMs
    // Under a steady flow of records the newest end is never reached, but each end is some time.
    else this.#ahead ??= end
  }
}
