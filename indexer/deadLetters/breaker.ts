/** The breaker is open while at least `minRejected` of the last `windowSize` records were rejected. */
const windowSize = 1_000
const minRejected = 950
/** While the breaker is open, one paused record passes in each interval (ms), so that later records are read. If these are valid, the breaker closes. */
const trickleMs = 1_000

/**
 * A rejected record whose dead letter is paused. `pass` lets it become a dead letter. `assignmentEnd` aborts when its partition is reassigned: the next owner
 * reads the record again, and `end` ends its wait here.
 */
type PausedRecord = { readonly assignmentEnd: AbortSignal; pass(): void; end(): void }

/**
 * A circuit breaker for the dead letters of one topic. Example:
 * 1. A bad release of Tidemark rejects every record. After 950 of them, dead letters are paused.
 * 2. An operator deploys a better release, which reads the paused records again, and accepts them.
 *
 * If instead fewer than 950 of the last 1,000 records were rejected, the breaker closes, and all paused records become dead letters.
 */
export class Breaker {
  /** The outcomes of the last records, as a ring: 1 is a rejected record. */
  readonly #outcomes = new Uint8Array(windowSize)
  #observedCount = 0
  /** The rejected records in `#outcomes`. */
  #rejectedCount = 0
  /** In order of arrival. */
  readonly #paused = new Set<PausedRecord>()
  #trickleTimer: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#rejectedCount >= minRejected
  }

  /** Counts the outcome of a record. If it closes the breaker, every paused record passes. */
  observe(outcome: 'accepted' | 'rejected'): void {
    const index = this.#observedCount++ % windowSize
    const oldest = this.#outcomes[index] ?? 0
    const newest = outcome === 'rejected' ? 1 : 0
    this.#rejectedCount += newest - oldest
    this.#outcomes[index] = newest
    if (this.isOpen) return
    for (const paused of this.#paused) paused.pass()
    this.#paused.clear()
  }

  /**
   * Resolves once a rejected record may become a dead letter: at once while the breaker is closed, else in order of arrival. Rejects when `assignmentEnd`
   * aborts.
   */
  async untilAllowed(assignmentEnd: AbortSignal): Promise<void> {
    assignmentEnd.throwIfAborted()
    if (!this.isOpen) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#paused.add({ assignmentEnd, pass: resolve, end: () => reject(assignmentEnd.reason) })
    // Adding the same listener to a signal again has no effect: one listener serves all records of a partition.
    assignmentEnd.addEventListener('abort', this.#endReassigned, { once: true })
    this.#startTrickle()
    await promise
  }

  /** Ends the waits of records whose partitions were reassigned. */
  readonly #endReassigned = (): void => {
    for (const paused of this.#paused) {
      if (!paused.assignmentEnd.aborted) continue
      this.#paused.delete(paused)
      paused.end()
    }
  }

  /** Lets the first paused record pass after `trickleMs`, then the next, until none is left. */
  #startTrickle(): void {
    this.#trickleTimer ??= setTimeout(() => {
      this.#trickleTimer = undefined
      const [first] = this.#paused
      if (first === undefined) return
      this.#paused.delete(first)
      first.pass()
      this.#startTrickle()
    }, trickleMs).unref()
  }
}
