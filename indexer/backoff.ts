import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'
import { summaryOf } from '../src/core/monitoring/log.ts'

const firstMs = 100
const maxMs = 10_000

/** The wait (ms) after a failed attempt (1, 2, …), with full jitter: random, below a bound that doubles with every attempt, up to ten seconds. */
export const backoffMs = (attempt: number, random: () => number): number =>
  random() * Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20))

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

  /** The last error of the failing step that failed first. */
  health(): CheckOutcome {
    const [problem] = this.#problems.values()
    return problem === undefined ? passed : failed(problem)
  }

  /** Rejects once `signal`, or the signal of all retries, aborts. */
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
          this.#problems.set(own, `${step}: ${summaryOf(error)}`)
          this.#log.warn({ err: error, attempts }, `${step} failed; trying again`)
          await sleep(backoffMs(attempts, this.#random), undefined, { signal: either })
        }
      }
    } finally {
      this.#problems.delete(own)
    }
  }
}
