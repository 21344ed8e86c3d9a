/** Measures how long something took in all its parts together. */
export class Stopwatch {
  readonly #elapsedMs: () => number
  #beforeMs = 0
  #startedMs: number | undefined

  constructor(elapsedMs: () => number) {
    this.#elapsedMs = elapsedMs
  }

  /** Begins another part. */
  start(): void {
    this.#startedMs = this.#elapsedMs()
  }

  stop(): void {
    this.#beforeMs = this.readMs()
    this.#startedMs = undefined
  }

  /** The parts that are over, and what has passed of the one that runs. */
  readMs(): number {
    return this.#beforeMs + (this.#startedMs === undefined ? 0 : this.#elapsedMs() - this.#startedMs)
  }
}
