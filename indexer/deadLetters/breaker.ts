/** Judged records that the share is taken of. */
const windowSize = 1_000
/** Refused among them at which nearly all of them are. */
const opensAt = 950
/** While it is open, one record a second is let through: the wait ends by itself, and a topic is not drained. */
const trickleMs = 1_000

/**
 * Holds back dead letters of one topic while nearly all of its records are refused: then it is rarely the records that are
 * wrong, and a bad release must not move a topic into the dead letters. Records behind those that are held are judged all the
 * same; once enough of them are good, everything is let through.
 */
export class Breaker {
  readonly #outcomes = new Uint8Array(windowSize)
  #judged = 0
  #refused = 0
  #held: (() => void)[] = []
  #trickle: NodeJS.Timeout | undefined

  get isOpen(): boolean {
    return this.#refused >= opensAt
  }

  /** Notes what became of a record. */
  judged(isRefused: boolean): void {
    const at = this.#judged++ % windowSize
    this.#refused += Number(isRefused) - (this.#outcomes[at] ?? 0)
    this.#outcomes[at] = Number(isRefused)
    if (!this.isOpen) for (const release of this.#held.splice(0)) release()
  }

  /** Resolves when a refused record may be set aside. */
  async permit(): Promise<void> {
    if (!this.isOpen) return
    this.#trickle ??= setInterval(() => this.#letOneThrough(), trickleMs).unref()
    await new Promise<void>((resolve) => this.#held.push(resolve))
  }

  /** Lets nothing through any more. */
  close(): void {
    clearInterval(this.#trickle)
    this.#held = []
  }

  #letOneThrough(): void {
    this.#held.shift()?.()
    if (this.#held.length > 0) return
    clearInterval(this.#trickle)
    this.#trickle = undefined
  }
}
