/** What a second allows may come at once for so long a time. */
const burstSeconds = 0.1

/** A ceiling on records a second: a token bucket. Without one, everything is allowed. */
export class RecordRate {
  readonly #perSecond: number | undefined
  readonly #elapsedMs: () => number
  #left: number
  #filledAtMs: number

  /** `elapsedMs`: time that never steps. */
  constructor(perSecond: number | undefined, elapsedMs: () => number) {
    this.#perSecond = perSecond
    this.#elapsedMs = elapsedMs
    this.#left = burstOf(perSecond)
    this.#filledAtMs = elapsedMs()
  }

  /** How many records may be sent now. */
  allowed(): number {
    const nowMs = this.#elapsedMs()
    const filled = this.#left + ((nowMs - this.#filledAtMs) / 1_000) * (this.#perSecond ?? 0)
    this.#left = Math.min(burstOf(this.#perSecond), filled)
    this.#filledAtMs = nowMs
    return Math.floor(this.#left)
  }

  take(records: number): void {
    this.#left -= records
  }

  /** After this time as many records are allowed as may come at once (ms). */
  waitMs(): number {
    if (this.#perSecond === undefined) return 0
    return Math.ceil(((burstOf(this.#perSecond) - this.#left) / this.#perSecond) * 1_000)
  }
}

const burstOf = (perSecond: number | undefined): number =>
  perSecond === undefined ? Number.POSITIVE_INFINITY : Math.max(1, perSecond * burstSeconds)
