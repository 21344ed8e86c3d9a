import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { summaryOf } from '../src/core/process/log.ts'

const firstMs = 100
const maxMs = 10_000

/** Full jitter: a random time up to a bound that doubles with every attempt (1, 2, …), at most ten seconds. */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20))

/** Repeats `attempt` until it succeeds. Calls `onFailure` after every failure; throws the signal's reason once `signal` aborts. */
export async function untilDone<T>(
  attempt: () => Promise<T>,
  onFailure: (error: unknown, attempts: number) => void,
  signal: AbortSignal,
  random: () => number,
): Promise<T> {
  for (let attempts = 1; ; attempts++) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      onFailure(error, attempts)
      await sleep(backoffMs(attempts, random), undefined, { signal })
    }
  }
}

/** Repeats steps that may fail, logs each failure, and can tell which step has to be repeated at the moment. */
export class Retries {
  readonly #log: Logger
  readonly #random: () => number
  readonly #signal: AbortSignal
  #blockedReason: string | undefined

  /** Every retry ends when `signal` aborts. */
  constructor(log: Logger, random: () => number, signal: AbortSignal) {
    this.#log = log
    this.#random = random
    this.#signal = signal
  }

  /** The step that failed last and its error, until a step succeeds; undefined when nothing waits. */
  blockedReason(): string | undefined {
    return this.#blockedReason
  }

  /** Repeats `attempt` until it succeeds or a signal aborts. `step` names it in the log and in `blockedReason`. */
  async untilDone<T>(step: string, attempt: () => Promise<T>, signal = this.#signal): Promise<T> {
    const onFailure = (error: unknown, attempts: number): void => {
      this.#blockedReason = `${step}: ${summaryOf(error)}`
      this.#log.warn({ err: error, attempts }, `${step} failed; trying again`)
    }
    try {
      return await untilDone(attempt, onFailure, AbortSignal.any([signal, this.#signal]), this.#random)
    } finally {
      this.#blockedReason = undefined
    }
  }
}
