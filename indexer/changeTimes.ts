/**
 * Assigns `changedAt` to the records of one partition, in the order of their offsets:
 *
 *     changedAt(r) = max(append time of r, changedAt of the record before r, greatest watermark decided before r was read)
 *
 * So a record that becomes visible after a watermark was given out never has a `changedAt` below it, whatever anybody's clock says
 * (docs/adr/0017-clocks.md).
 *
 * Records below `readBefore` were read before, by a generation of indices that is lost, and the watermarks of that time are not known any
 * more. They get the greatest distance that was ever needed, so that none of them is below the time at which it was served.
 */
export class ChangeTimes {
  readonly #readBefore: bigint
  readonly #claimed: Readonly<Record<'watermarkMs' | 'changedAtRaisedByMs', number>>
  #latestMs = Number.NEGATIVE_INFINITY
  /** How far at most `changedAt` of a record was raised above its append time. */
  changedAtRaisedByMs = 0

  /** `claimed`: the greatest watermark (epoch ms) that was given out, and how far at most (ms) `changedAt` of a record was ever raised. */
  constructor(readBefore: bigint, claimed: Readonly<Record<'watermarkMs' | 'changedAtRaisedByMs', number>>) {
    this.#readBefore = readBefore
    this.#claimed = claimed
  }

  /** `changedAt` (epoch ms) of the next record. */
  next(offset: bigint, appendedAtMs: number): number {
    const isReadBefore = offset < this.#readBefore
    const { watermarkMs, changedAtRaisedByMs } = this.#claimed
    const lowestMs = isReadBefore ? appendedAtMs + changedAtRaisedByMs : Math.max(appendedAtMs, watermarkMs)
    this.#latestMs = Math.max(this.#latestMs, lowestMs)
    if (!isReadBefore) this.changedAtRaisedByMs = Math.max(this.changedAtRaisedByMs, this.#latestMs - appendedAtMs)
    return this.#latestMs
  }

  /** Called when a watermark of the partition is decided, before it is published: no later record gets a time below it. */
  watermarkDecided(watermarkMs: number): void {
    this.#latestMs = Math.max(this.#latestMs, watermarkMs)
  }
}
