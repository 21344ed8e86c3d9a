const windowSize = 1_000
const opensAt = 950
/** While the breaker is open, one paused record passes in each interval (ms): so later records are read, and if these are valid, the breaker closes. */
const trickleMs = 1_000

/** A paused record. `left` aborts when its partition is reassigned; the next owner reads it again. */
type Paused = { readonly left: AbortSignal; pass(): void; end(): void }

/**
 * A circuit breaker for the dead letters of one topic. Example: a bad release rejects every record. After 950 of them, dead letters are paused, and an operator
 * can deploy a better release, which reads the paused records again. Once fewer than 950 of the last 1,000 records were rejected, every paused record passes.
 */
export class Breaker {
  readonly #outcomes = new Uint8Array(windowSize)
  #observed = 0
  #rejected = 0
  readonly #paused = new Set<Paused>()
  #trickle: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#rejected >= opensAt
  }

  /** Notes an outcome. If the breaker is closed after that, lets all paused records pass. */
  observe(outcome: 'accepted' | 'rejected'): void {
    const at = this.#observed++ % windowSize
    const rejected = outcome === 'rejected' ? 1 : 0
    this.#rejected += rejected - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = rejected
    if (this.isOpen) return
    for (const paused of this.#paused) paused.pass()
    this.#paused.clear()
  }

  /** Resolves once a rejected record may become a dead letter: at once while the breaker is closed, else in order of arrival. Rejects when `left` aborts. */
  async acquirePermit(left: AbortSignal): Promise<void> {
    left.throwIfAborted()
    if (!this.isOpen) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#paused.add({ left, pass: resolve, end: () => reject(left.reason) })
    // Adding the same function again has no effect: one listener serves all records of a partition.
    left.addEventListener('abort', this.#endLeft, { once: true })
    this.#startTrickle()
    await promise
  }

  readonly #endLeft = (): void => {
    for (const paused of this.#paused) {
      if (!paused.left.aborted) continue
      this.#paused.delete(paused)
      paused.end()
    }
  }

  #startTrickle(): void {
    this.#trickle ??= setTimeout(() => {
      this.#trickle = undefined
      const [first] = this.#paused
      if (first === undefined) return
      this.#paused.delete(first)
      first.pass()
      this.#startTrickle()
    }, trickleMs).unref()
  }
}
