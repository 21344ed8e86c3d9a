import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'

/** Half of the bound after the first failed attempt. */
const baseMs = 100
const maxMs = 10_000

/**
 * The wait (ms) after failed attempt number `attempt` (1, 2, …): a random part of a bound (full jitter), which doubles from 200 ms to ten seconds. `random`: 0
 * to 1.
 */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 20))

/** Resolves with true once `isDone` does, or with false after `deadlineMs`. Rejects when `isDone` rejects or `signal` aborts. */
export async function until(
  isDone: () => Promise<boolean>,
  deadlineMs: number,
  signal: AbortSignal,
  pollMs = 500,
): Promise<boolean> {
  const endsAtMs = performance.now() + deadlineMs
  while (performance.now() < endsAtMs) {
    if (await isDone()) return true
    await sleep(pollMs, undefined, { signal })
  }
  return false
}

export class Retries {
  readonly #log: Logger
  readonly #random: () => number
  readonly #signal: AbortSignal
  /** The last error of each step that fails now, in the order in which the steps began to fail. */
  readonly #problems = new Map<symbol, string>()

  constructor(log: Logger, random: () => number, signal: AbortSignal) {
    this.#log = log
    this.#random = random
    this.#signal = signal
  }

  /** Reports the step that has been failing longest. */
  health(): CheckOutcome {
    const [longestProblem] = this.#problems.values()
    return longestProblem === undefined ? passed : failed(longestProblem)
  }

  /** Calls `attempt` until it succeeds, with backoffs. Rejects once `signal`, or the signal of the constructor, aborts. */
  async untilDone<T>(step: string, attempt: () => Promise<T>, signal = this.#signal): Promise<T> {
    const anySignal = AbortSignal.any([signal, this.#signal])
    const stepKey = Symbol(step)
    try {
      for (let attempts = 1; ; attempts++) {
        anySignal.throwIfAborted()
        try {
          return await attempt()
        } catch (error) {
          anySignal.throwIfAborted()
          this.#problems.set(stepKey, `${step}: ${summaryOf(error)}`)
          this.#log.warn({ err: error, attempts }, `${step} failed; trying again`)
          await sleep(backoffMs(attempts, this.#random), undefined, { signal: anySignal })
        }
      }
    } finally {
      this.#problems.delete(stepKey)
    }
  }
}
