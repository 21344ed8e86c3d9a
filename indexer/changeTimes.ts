/** A claim of partitions, and what its owner is told of the promises that earlier indexers have made to readers. */
export type PartitionClaim = {
  /** The claimant. A partition watermark counts only while its publisher still has the claim. */
  readonly owner: string
  /** The greatest watermark (epoch ms) that was ever published; undefined when there was none. */
  readonly watermarkMs: number | undefined
  /** How far at most (ms) `changedAt` of a record was ever raised above its append time. */
  readonly changedAtRaisedByMs: number
}

/**
 * Assigns `changedAt` to the records of one partition, in the order of their offsets:
 *
 *     changedAt(r) = max(append time of r, changedAt of the record before r, greatest watermark decided before r was read)
 *
 * Append times alone are no order: leaders have clocks of their own, so append times step back when a partition changes its leader, and
 * a record that is appended to an idle partition may carry an earlier time than the watermark, which an indexer has derived from other
 * clocks. With this rule a record that becomes visible after a watermark was given out never has a `changedAt` below it: whoever asks
 * `changedSince` that watermark misses nothing, whatever anybody's clock says.
 *
 * Records below `readBefore` were read before, by a generation of indices that is lost, and the watermarks of that time are not known any
 * more. They get the greatest distance that was ever needed, so that none of them is below the time at which it was served.
 */
export class ChangeTimes {
  readonly #readBefore: bigint
  readonly #earlierRaisedByMs: number
  readonly #watermarkMs: number
  #latestMs = Number.NEGATIVE_INFINITY
  /** How far at most `changedAt` of a record was raised above its append time. */
  changedAtRaisedByMs = 0

  constructor(readBefore: bigint, { watermarkMs, changedAtRaisedByMs }: Omit<PartitionClaim, 'owner'>) {
    this.#readBefore = readBefore
    this.#watermarkMs = watermarkMs ?? Number.NEGATIVE_INFINITY
    this.#earlierRaisedByMs = changedAtRaisedByMs
  }

  /** `changedAt` (epoch ms) of the next record. */
  next(offset: bigint, appendedAtMs: number): number {
    const isReadBefore = offset < this.#readBefore
    const lowestMs = isReadBefore ? appendedAtMs + this.#earlierRaisedByMs : Math.max(appendedAtMs, this.#watermarkMs)
    this.#latestMs = Math.max(this.#latestMs, lowestMs)
    if (!isReadBefore) this.changedAtRaisedByMs = Math.max(this.changedAtRaisedByMs, this.#latestMs - appendedAtMs)
    return this.#latestMs
  }

  /** Called when a watermark of the partition is decided, before it is published: no later record gets a time below it. */
  watermarkDecided(watermarkMs: number): void {
    this.#latestMs = Math.max(this.#latestMs, watermarkMs)
  }
}
