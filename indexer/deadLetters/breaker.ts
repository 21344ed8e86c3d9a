/** The number of latest records of which the rejected share is taken. */
const windowSize = 1_000
/** The breaker opens at so many rejected records in the window. */
const opensAt = 950
/** An open breaker lets one record pass at this interval, so that it can close by itself. */
const trickleMs = 1_000

/** A paused record. `left` aborts once its partition belongs to another indexer, which reads the record again. */
type Paused = { readonly left: AbortSignal; pass(): void; end(): void }

/**
 * A circuit breaker that pauses the dead letters of one topic while nearly all of its records are rejected: a bad release must not move a
 * topic into the dead letters. Records behind the paused ones are still validated; once enough are valid, every paused record passes.
 */
export class Breaker {
  readonly #outcomes = new Uint8Array(windowSize)
  #observed = 0
  #rejected = 0
  /** In the order in which they came. */
  readonly #paused = new Set<Paused>()
  #trickle: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#rejected >= opensAt
  }

  observe(isRejected: boolean): void {
    const at = this.#observed++ % windowSize
    this.#rejected += Number(isRejected) - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = Number(isRejected)
    if (this.isOpen) return
    for (const each of this.#paused) each.pass()
    this.#paused.clear()
  }

  /** Resolves when a rejected record may become a dead letter, after those that came before; rejects once `left` aborts. */
  async acquirePermit(left: AbortSignal): Promise<void> {
    left.throwIfAborted()
    if (!this.isOpen) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#paused.add({ left, pass: resolve, end: () => reject(left.reason) })
    // Added once for all records of a partition: the same listener again is none.
    left.addEventListener('abort', this.#endLeft, { once: true })
    this.#startTrickle()
    await promise
  }

  readonly #endLeft = (): void => {
    for (const each of this.#paused) {
      if (!each.left.aborted) continue
      this.#paused.delete(each)
      each.end()
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
