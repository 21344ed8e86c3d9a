/** The number of latest records of which the rejected share is taken. */
const windowSize = 1_000
/** The breaker opens at so many rejected records in the window. */
const opensAt = 950
/** An open breaker lets one record pass at this interval, so that it can close by itself. */
const trickleMs = 1_000

/**
 * A circuit breaker that pauses the dead letters of one topic while nearly all of its records are rejected: a bad release must not move a
 * topic into the dead letters. Records behind the paused ones are still validated; once enough are valid, every paused record passes.
 */
export class Breaker {
  readonly #outcomes = new Uint8Array(windowSize)
  #observed = 0
  #rejected = 0
  /** When the record that came last may pass. */
  #last: Promise<void> = Promise.resolve()
  /** Ends the pause of the record that is the next to pass. */
  #pass = (): void => undefined

  get isOpen(): boolean {
    return this.#rejected >= opensAt
  }

  observe(isRejected: boolean): void {
    const at = this.#observed++ % windowSize
    this.#rejected += Number(isRejected) - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = Number(isRejected)
    if (!this.isOpen) this.#pass()
  }

  /** Resolves when a rejected record may become a dead letter, after those that came before; rejects once `signal` aborts. */
  acquirePermit(signal: AbortSignal): Promise<void> {
    const permit = this.#last.then(() => this.#pause(signal))
    this.#last = permit.catch(() => undefined)
    return permit
  }

  async #pause(signal: AbortSignal): Promise<void> {
    if (!this.isOpen) return
    signal.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#pass = resolve
    const timer = setTimeout(resolve, trickleMs).unref()
    signal.addEventListener('abort', this.#pass, { once: true })
    await promise
    clearTimeout(timer)
    signal.removeEventListener('abort', this.#pass)
    signal.throwIfAborted()
  }
}
