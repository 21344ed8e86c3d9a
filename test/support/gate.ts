import { eventually } from './eventually.ts'

/** A point that work reaches and does not pass until it is opened. */
export class Gate {
  #isReached = false
  readonly #opened = Promise.withResolvers<void>()

  /** Called by the work. */
  async pass(): Promise<void> {
    this.#isReached = true
    await this.#opened.promise
  }

  /** Rejects when the work does not come here in half a minute. */
  untilReached(): Promise<void> {
    return eventually(() => this.#isReached)
  }

  /** Lets the work go on, and all that comes later. */
  open(): void {
    this.#opened.resolve()
  }
}
