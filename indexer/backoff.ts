import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'

const baseMs = 100
const maxMs = 10_000

/** The wait (ms) after a failed attempt (1, 2, …), with full jitter: random, below a bound of 200 ms that doubles with each attempt, up to ten seconds. */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 20))

/** Polls until `isDone` resolves with true; resolves with false after `deadlineMs`. Rejects when `isDone` rejects or `signal` aborts. */
export async function until(
  isDone: () => Promise<boolean>,
  deadlineMs: number,
  signal: AbortSignal,
  pollMs = 500,
): Promise<boolean> {
  for (const endsAtMs = performance.now() + deadlineMs; performance.now() < endsAtMs; ) {
    if (await isDone()) return true
    await sleep(pollMs, undefined, { signal })
  }
  return false
}

/** Repeats failing steps. */
export class Retries {
  readonly #log: Logger
  readonly #random: () => number
  readonly #signal: AbortSignal
  readonly #problems = new Map<symbol, string>()

  constructor(log: Logger, random: () => number, signal: AbortSignal) {
    this.#log = log
    this.#random = random
    this.#signal = signal
  }

  /** Of the steps that fail now, the one that began to fail first: its last error. */
  health(): CheckOutcome {
    const [problem] = this.#problems.values()
    return problem === undefined ? passed : failed(problem)
  }

  /** Rejects once `signal`, or the signal of all retries, aborts. */
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
