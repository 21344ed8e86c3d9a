import { setTimeout as sleep } from 'node:timers/promises'
import { summaryOf } from './log.ts'

/** Returns the problem that keeps a part from working now; undefined when there is none. A rejection counts as a problem. */
export type Check = (signal: AbortSignal) => Promise<string | undefined>

/** Checks by name. */
export type Checks = Readonly<Record<string, Check>>

/** The last result of a check. */
export type CheckResult = { readonly name: string; readonly problem: string | undefined; readonly atMs: number }

const deadlineMs = 2_000
/** A result is kept for so long, however many requests ask for it. */
const freshMs = 1_000

/** Runs checks on request. A check that takes longer than two seconds counts as a problem. */
export class Health {
  readonly #clock: () => number
  readonly #results: (() => Promise<CheckResult>)[] = []

  constructor(clock: () => number) {
    this.#clock = clock
  }

  add(checks: Checks): void {
    for (const [name, check] of Object.entries(checks)) this.#results.push(resultsOf(name, check, this.#clock))
  }

  /** The result of every check, at most a second old, in the order in which they were added. */
  results(): Promise<readonly CheckResult[]> {
    return Promise.all(this.#results.map((result) => result()))
  }
}

function resultsOf(name: string, check: Check, clock: () => number): () => Promise<CheckResult> {
  let known: CheckResult | undefined
  let running: Promise<CheckResult> | undefined
  const resultOf = (problem: string | undefined): CheckResult => ({ name, problem, atMs: clock() })
  const run = async (): Promise<CheckResult> => {
    known = resultOf(await check(AbortSignal.timeout(deadlineMs)).catch(summaryOf))
    return known
  }
  return async () => {
    if (known !== undefined && clock() - known.atMs < freshMs) return known
    // Some checks ignore their signal: one that is still running is never started a second time.
    running ??= run().finally(() => {
      running = undefined
    })
    const late = `has not answered for ${deadlineMs / 1_000} s`
    return await Promise.race([running, sleep(deadlineMs, undefined, { ref: false }).then(() => resultOf(late))])
  }
}

/** Whether no check has a problem. */
export const isHealthy = (results: readonly CheckResult[]): boolean =>
  results.every(({ problem }) => problem === undefined)

/** The body of `/readyz`: every check with its result and age. */
export function renderHealth(results: readonly CheckResult[], nowMs: number): string {
  const checks = results.map(({ name, problem, atMs }) => {
    const ageSeconds = Math.max(0, nowMs - atMs) / 1_000
    return [name, problem === undefined ? { ok: true, ageSeconds } : { ok: false, problem, ageSeconds }] as const
  })
  return JSON.stringify({ status: isHealthy(results) ? 'ready' : 'not ready', checks: Object.fromEntries(checks) })
}
