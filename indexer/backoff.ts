import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'

/** Half of the bound after the first failed attempt. */
const baseMs = 100
const maxMs = 10_000

/**
 * The wait (ms) after failed attempt number `attempt` (1, 2, …): a random part of a bound (full jitter). The bound is 200 ms after attempt 1, and doubles with
 * each further attempt, up to ten seconds. `random`: 0 to 1.
 */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 20))

/**
 * Calls `isDone` every `pollMs`. Resolves with true once `isDone` resolves with true, or with false after `deadlineMs`. Rejects when `isDone` rejects or
 * `signal` aborts.
 */
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

/** Repeats steps that fail, and reports the failure as its health. */
export class Retries {
  readonly #log: Logger
  readonly #random: () => number
  readonly #signal: AbortSignal
  /** A key for each step that fails now → its last error; in the order in which the steps began to fail. */
  readonly #problems = new Map<symbol, string>()

  /** `signal` ends the retries of all steps. */
  constructor(log: Logger, random: () => number, signal: AbortSignal) {
    this.#log = log
    this.#random = random
    this.#signal = signal
  }

  /** Fails while a step fails: with the last error of the step that has been failing longest. */
  health(): CheckOutcome {
    const [longestProblem] = this.#problems.values()
    return longestProblem === undefined ? passed : failed(longestProblem)
  }

  /**
   * Calls `attempt` until it succeeds, with a backoff after each failure. `step` names it in logs. Rejects once `signal`, or the signal of the constructor,
   * aborts.
   */
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
