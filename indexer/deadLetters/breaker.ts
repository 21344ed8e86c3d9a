/** The breaker is open while at least `minRejected` of the last `windowSize` records were rejected. */
const windowSize = 1_000
const minRejected = 950
/** While the breaker is open, one paused record passes per interval (ms), so that later records are read: if these are valid, the breaker closes. */
const trickleMs = 1_000

/** `end` is called when the partition is reassigned: the next owner reads the record again. */
type PausedRecord = { readonly assignmentEnd: AbortSignal; pass(): void; end(): void }

/**
 * Pauses the dead letters of one topic. If a bad release of Tidemark rejects every record, a better one reads the paused records again, and accepts them. If
 * the breaker closes, all paused records become dead letters.
 */
export class Breaker {
  /** A ring: 1 is a rejected record. */
  readonly #outcomes = new Uint8Array(windowSize)
  #observedCount = 0
  /** In `#outcomes`. */
  #rejectedCount = 0
  /** In order of arrival. */
  readonly #paused = new Set<PausedRecord>()
  #trickleTimer: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#rejectedCount >= minRejected
  }

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

  /** Resolves once a rejected record may become a dead letter, in order of arrival. Rejects when `assignmentEnd` aborts. */
  async untilAllowed(assignmentEnd: AbortSignal): Promise<void> {
    assignmentEnd.throwIfAborted()
    if (!this.isOpen) return
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#paused.add({ assignmentEnd, pass: resolve, end: () => reject(assignmentEnd.reason) })
    // Adding the same listener again has no effect: one listener serves all records of a partition.
    assignmentEnd.addEventListener('abort', this.#endReassigned, { once: true })
    this.#startTrickle()
    await promise
  }

  readonly #endReassigned = (): void => {
    for (const paused of this.#paused) {
      if (!paused.assignmentEnd.aborted) continue
      this.#paused.delete(paused)
      paused.end()
    }
  }

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
