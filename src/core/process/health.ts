import { setTimeout as sleep } from 'node:timers/promises'
import { summaryOf } from './log.ts'

/** Resolves with the present problem of a part, or undefined when healthy. A rejection counts as a problem. */
export type Check = (signal: AbortSignal) => Promise<string | undefined>

export type Checks = Readonly<Record<string, Check>>

export type CheckResult = { readonly name: string; readonly problem: string | undefined }

const deadlineMs = 2_000
/** How long a result is cached. */
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

  /** The result of every check, at most a second old, in the order of `add`. */
  results(): Promise<readonly CheckResult[]> {
    return Promise.all(this.#results.map((result) => result()))
  }
}

function resultsOf(name: string, check: Check, clock: () => number): () => Promise<CheckResult> {
  let known: { readonly result: CheckResult; readonly atMs: number } | undefined
  let running: Promise<CheckResult> | undefined
  const run = async (): Promise<CheckResult> => {
    const result = { name, problem: await check(AbortSignal.timeout(deadlineMs)).catch(summaryOf) }
    known = { result, atMs: clock() }
    return result
  }
  return async () => {
    if (known !== undefined && clock() - known.atMs < freshMs) return known.result
    // A check that ignores its signal may still run: then await it instead of starting another.
    running ??= run().finally(() => {
      running = undefined
    })
    const late = { name, problem: `has not answered for ${deadlineMs / 1_000} s` }
    return await Promise.race([running, sleep(deadlineMs, late, { ref: false })])
  }
}

export const isHealthy = (results: readonly CheckResult[]): boolean =>
  results.every(({ problem }) => problem === undefined)

/** The body of `/readyz`: every check with its result. */
export function renderHealth(results: readonly CheckResult[]): string {
  const checks = results.map(({ name, problem }) => [name, { ok: problem === undefined, problem }])
  return JSON.stringify({ status: isHealthy(results) ? 'ready' : 'not ready', checks: Object.fromEntries(checks) })
}
