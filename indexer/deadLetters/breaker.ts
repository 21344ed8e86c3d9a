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
  /** Each lets one waiting record pass; oldest first. */
  readonly #waiting = new Set<() => void>()
  #trickle: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#rejected >= opensAt
  }

  observe(isRejected: boolean): void {
    const at = this.#observed++ % windowSize
    this.#rejected += Number(isRejected) - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = Number(isRejected)
    if (!this.isOpen) for (const pass of this.#waiting) pass()
  }

  /** Resolves when one rejected record may become a dead letter; rejects once `signal` aborts. */
  async acquirePermit(signal: AbortSignal): Promise<void> {
    if (!this.isOpen) return
    signal.throwIfAborted()
    this.#trickle ??= setInterval(() => this.#grantOne(), trickleMs).unref()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const giveUp = (): void => reject(signal.reason as Error)
    signal.addEventListener('abort', giveUp, { once: true })
    this.#waiting.add(resolve)
    await promise.finally(() => {
      signal.removeEventListener('abort', giveUp)
      this.#waiting.delete(resolve)
    })
  }

  #grantOne(): void {
    const [first] = this.#waiting
    first?.()
    if (first !== undefined) this.#waiting.delete(first)
    if (this.#waiting.size > 0) return
    clearInterval(this.#trickle)
    this.#trickle = undefined
  }
}
