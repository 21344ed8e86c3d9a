import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { summaryOf } from '../src/core/process/log.ts'

const firstMs = 100
const maxMs = 10_000

/** Full jitter: a random time up to a bound that doubles with every attempt (1, 2, …), at most ten seconds. */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20))

/** Repeats steps that may fail, logs each failure, and can tell which step has to be repeated at the moment. */
export class Retries {
  readonly #log: Logger
  readonly #random: () => number
  readonly #signal: AbortSignal
  /** Why each step that waits has failed, in the order of their first failures. */
  readonly #blockedReasons = new Map<symbol, string>()

  /** Every retry ends when `signal` aborts. */
  constructor(log: Logger, random: () => number, signal: AbortSignal) {
    this.#log = log
    this.#random = random
    this.#signal = signal
  }

  /** The step that has been failing for longest, and its last error; undefined when none is. */
  blockedReason(): string | undefined {
    return this.#blockedReasons.values().next().value
  }

  /**
   * Repeats `attempt` until it succeeds; throws the reason of `signal`, or of the signal of all retries, once one aborts. `step` names it
   * in the log and in `blockedReason`.
   */
  async untilDone<T>(step: string, attempt: () => Promise<T>, signal = this.#signal): Promise<T> {
    const either = AbortSignal.any([signal, this.#signal])
    const own = Symbol(step)
    try {
      for (let attempts = 1; ; attempts++) {
        either.throwIfAborted()
        try {
          return await attempt()
        } catch (error) {
          either.throwIfAborted()
          this.#blockedReasons.set(own, `${step}: ${summaryOf(error)}`)
          this.#log.warn({ err: error, attempts }, `${step} failed; trying again`)
          await sleep(backoffMs(attempts, this.#random), undefined, { signal: either })
        }
      }
    } finally {
      this.#blockedReasons.delete(own)
    }
  }
}
