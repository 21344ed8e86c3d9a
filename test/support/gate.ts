import { eventually } from './eventually.ts'

/** Blocks code at a point until a test opens the gate. */
export class Gate {
  #isReached = false
  readonly #opened = Promise.withResolvers<void>()

  /** Called by the blocked code. */
  async pass(): Promise<void> {
    this.#isReached = true
    await this.#opened.promise
  }

  /** Resolves once the code has reached the gate; rejects after 90 seconds. */
  untilReached(): Promise<void> {
    return eventually(() => this.#isReached)
  }

  /** Lets waiting and later code pass. */
  open(): void {
    this.#opened.resolve()
  }
}
