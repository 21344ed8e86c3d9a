import { setTimeout as sleep } from 'node:timers/promises'

const workMs = 20
const maxRestMs = 1_000

/** Rests as long as it has worked, so that readers and writers keep at least half of every engine. */
export class Pace {
  readonly #signal: AbortSignal
  #sinceMs = performance.now()

  constructor(signal: AbortSignal) {
    this.#signal = signal
  }

  /** To be called after every small piece of work; returns at once until 20 ms have passed. */
  async rest(): Promise<void> {
    const workedMs = performance.now() - this.#sinceMs
    if (workedMs < workMs) return
    await sleep(Math.min(workedMs, maxRestMs), undefined, { signal: this.#signal })
    this.#sinceMs = performance.now()
  }
}
