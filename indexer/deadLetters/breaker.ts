/** The number of latest records of which the rejected share is taken. */
const windowSize = 1_000
/** With so many rejected records in the window the breaker opens. */
const opensAt = 950
/** An open breaker lets one record pass at this interval: so it can close by itself, and a topic is not drained. */
const trickleMs = 1_000

/**
 * A circuit breaker that pauses the dead letters of one topic while nearly all of its records are rejected. Then usually the
 * release is wrong and not the records, and a bad release must not move a topic into the dead letters. Records behind the
 * paused ones are validated nevertheless; once enough of them are valid, the breaker closes and every paused record passes.
 */
export class Breaker {
  readonly #outcomes = new Uint8Array(windowSize)
  #observed = 0
  #rejected = 0
  #waiting: (() => void)[] = []
  #trickle: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#rejected >= opensAt
  }

  /** Counts a record. */
  observe(isRejected: boolean): void {
    const at = this.#observed++ % windowSize
    this.#rejected += Number(isRejected) - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = Number(isRejected)
    if (!this.isOpen) for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** Resolves when one rejected record may become a dead letter. */
  async acquirePermit(): Promise<void> {
    if (!this.isOpen) return
    this.#trickle ??= setInterval(() => this.#grantOne(), trickleMs).unref()
    await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Grants no more permits. */
  stop(): void {
    clearInterval(this.#trickle)
    this.#waiting = []
  }

  #grantOne(): void {
    this.#waiting.shift()?.()
    if (this.#waiting.length > 0) return
    clearInterval(this.#trickle)
    this.#trickle = undefined
  }
}
