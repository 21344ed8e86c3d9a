const windowSize = 1_000
/** With so many rejected records in the window, the breaker is open. */
const opensAt = 950
/** An open breaker lets one paused record pass at this interval (ms), so that the records behind it are read, and it can close by itself. */
const trickleMs = 1_000

/** A paused record. `left` aborts when its partition is assigned to another indexer, which reads the record again. */
type Paused = { readonly left: AbortSignal; pass(): void; end(): void }

/**
 * A circuit breaker for the dead letters of one topic. Example: a bad release rejects every record. Without the breaker it would dead-letter the whole
 * topic; with it, the dead letters are paused after 950 records, until a better release runs. Records behind the paused ones are still validated, and
 * once enough of them are valid, every paused record passes.
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

  observe(outcome: 'accepted' | 'rejected'): void {
    const at = this.#observed++ % windowSize
    const rejected = outcome === 'rejected' ? 1 : 0
    this.#rejected += rejected - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = rejected
    if (this.isOpen) return
    for (const paused of this.#paused) paused.pass()
    this.#paused.clear()
  }

  /** Resolves when a rejected record may become a dead letter, in order of arrival. Rejects when `left` aborts. */
  async acquirePermit(left: AbortSignal): Promise<void> {
    left.throwIfAborted()
    if (!this.isOpen) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#paused.add({ left, pass: resolve, end: () => reject(left.reason) })
    // All records of a partition share one listener: adding it again has no effect.
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
