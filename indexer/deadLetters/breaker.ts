const windowSize = 1_000
const minRejected = 950
/** While the breaker is open, one paused record passes in each interval (ms), so that later records are read. If these are valid, the breaker closes. */
const trickleMs = 1_000

/** A paused record. `partitionLeft` aborts when its partition is reassigned; the next owner reads it again. */
type PausedRecord = { readonly partitionLeft: AbortSignal; pass(): void; end(): void }

/**
 * A circuit breaker for the dead letters of one topic. Example: a bad release rejects every record. After 950 of them, dead letters are paused, and an operator
 * can deploy a better release, which reads the paused records again. Once fewer than 950 of the last 1,000 records were rejected, every paused record passes.
 */
export class Breaker {
  readonly #outcomes = new Uint8Array(windowSize)
  #observed = 0
  #rejected = 0
  readonly #paused = new Set<PausedRecord>()
  #trickle: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#rejected >= minRejected
  }

  observe(outcome: 'accepted' | 'rejected'): void {
    const at = this.#observed++ % windowSize
    const rejected = outcome === 'rejected' ? 1 : 0
    this.#rejected += rejected - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = rejected
    if (this.isOpen) return
    for (const paused of this.#paused) paused.pass()
    this.#paused.clear()
  }

  /**
   * Resolves once a rejected record may become a dead letter: at once while the breaker is closed, else in order of arrival. Rejects when `partitionLeft`
   * aborts.
   */
  async untilAllowed(partitionLeft: AbortSignal): Promise<void> {
    partitionLeft.throwIfAborted()
    if (!this.isOpen) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#paused.add({ partitionLeft, pass: resolve, end: () => reject(partitionLeft.reason) })
    // Adding the same function again has no effect: one listener serves all records of a partition.
    partitionLeft.addEventListener('abort', this.#endLeft, { once: true })
    this.#startTrickle()
    await promise
  }

  readonly #endLeft = (): void => {
    for (const paused of this.#paused) {
      if (!paused.partitionLeft.aborted) continue
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
