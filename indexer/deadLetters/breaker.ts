/** The number of last outcomes that count. */
const windowSize = 1_000
/** While at least so many outcomes in the window are rejections, the breaker is open. */
const opensAt = 950
/**
 * An open breaker lets one paused record pass at this interval (ms). That frees room for the records behind it: they are read, and if they are valid, the
 * breaker closes by itself.
 */
const trickleMs = 1_000

/** A paused record. `left` aborts when the assignment of its partition ends; the next owner reads the record again. */
type Paused = { readonly left: AbortSignal; pass(): void; end(): void }

/**
 * A circuit breaker for the dead letters of one topic. Example: a bad release rejects every record. Without the breaker, the whole topic would become dead
 * letters. With it, dead letters are paused after 950 records, and an operator can deploy a better release, which reads the paused records again. Records
 * behind the paused ones are still validated. Once fewer than 950 of the last 1,000 records were rejected, every paused record passes.
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

  /** Notes the outcome of a record; if the breaker is closed then, lets all paused records pass. */
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
    // One listener serves all records of a partition, since adding the same function again has no effect.
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
