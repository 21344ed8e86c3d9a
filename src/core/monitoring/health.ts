import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { summaryOf } from './log.ts'

/** Resolves with the present problem of a part, or undefined when healthy. A rejection counts as a problem. */
export type Check = (signal: AbortSignal) => Promise<string | undefined>

export type Checks = Readonly<Record<string, Check>>

type CheckResult = { readonly name: string; readonly problem: string | undefined }

const deadlineMs = 2_000
/** Pauses between two looks of `untilHealthy`: short at first, as engines usually answer while a process starts. */
const [firstPauseMs, longestPauseMs] = [50, 1_000]
/** How long a result is cached. */
const freshMs = 1_000
/** More than any process has. */
const maxChecks = 100

/** Resolves once all checks pass at the same time. Rejects once `signal` aborts. */
export async function untilHealthy(checks: Checks, signal: AbortSignal): Promise<void> {
  const passes = (check: Check): Promise<boolean> =>
    check(AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])).then(
      (problem) => problem === undefined,
      () => false,
    )
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    const passed = await Promise.all(Object.values(checks).map(passes))
    if (passed.every(Boolean)) return
    await sleep(pauseMs, undefined, { signal })
  }
}

/**
 * Runs checks on request. A check that takes longer than two seconds counts as a problem. `isDecisive`: whether a process is not ready
 * while the check of that name fails.
 */
export class Health {
  readonly #checks = new Map<string, Check>()
  /** Of each check by name. One run at a time: a check that ignores its signal is awaited instead of being started again. */
  readonly #results: LRUCache<string, CheckResult>

  readonly #isDecisive: (name: string) => boolean

  constructor(now: () => number, isDecisive: (name: string) => boolean = () => true) {
    this.#isDecisive = isDecisive
    const fetchMethod = async (name: string): Promise<CheckResult> => {
      return { name, problem: await this.#checks.get(name)?.(AbortSignal.timeout(deadlineMs)).catch(summaryOf) }
    }
    this.#results = new LRUCache({ max: maxChecks, ttl: freshMs, ttlResolution: 0, perf: { now }, fetchMethod })
  }

  add(checks: Checks): void {
    for (const [name, check] of Object.entries(checks)) this.#checks.set(name, check)
  }

  /** The result of every check, at most a second old, in the order of `add`. */
  results(): Promise<readonly CheckResult[]> {
    const resultOf = async (name: string): Promise<CheckResult> => {
      const late = { name, problem: `has not answered for ${deadlineMs / 1_000} s` }
      return (await Promise.race([this.#results.fetch(name), sleep(deadlineMs, late, { ref: false })])) ?? late
    }
    return Promise.all([...this.#checks.keys()].map(resultOf))
  }

  isReady(results: readonly CheckResult[]): boolean {
    return results.every(({ name, problem }) => problem === undefined || !this.#isDecisive(name))
  }
}

/** The body of `/readyz`: every check with its result. */
export function renderHealth(results: readonly CheckResult[], isReady: boolean): string {
  const checks = results.map(({ name, problem }) => [name, { ok: problem === undefined, problem }])
  return JSON.stringify({ status: isReady ? 'ready' : 'not ready', checks: Object.fromEntries(checks) })
}
