import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { summaryOf } from './log.ts'

export type CheckOutcome = { readonly ok: true } | { readonly ok: false; readonly problem: string }

export const passed: CheckOutcome = { ok: true }
export const failed = (problem: string): CheckOutcome => ({ ok: false, problem })
export const problemIn = (outcome: CheckOutcome): string | undefined => (outcome.ok ? undefined : outcome.problem)

/** A rejection counts as a failure. */
export type Check = (signal: AbortSignal) => Promise<CheckOutcome>

export type Checks = Readonly<Record<string, Check>>

export type CheckResult = CheckOutcome & { readonly name: string }

const deadlineMs = 2_000
/** Brief at first: engines usually answer while a process starts. */
const firstPauseMs = 50
const longestPauseMs = 1_000
/** For this long, an outcome is returned again. */
const freshMs = 1_000
const maxChecks = 100

/** Resolves once all checks pass at the same time. Rejects once `signal` aborts. */
export async function untilHealthy(checks: Checks, signal: AbortSignal): Promise<void> {
  const passes = (check: Check): Promise<boolean> =>
    check(AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)])).then(
      ({ ok }) => ok,
      () => false,
    )
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    const results = await Promise.all(Object.values(checks).map(passes))
    if (results.every(Boolean)) return
    await sleep(pauseMs, undefined, { signal })
  }
}

export class Health {
  readonly #checks = new Map<string, Check>()
  /** Runs a check by its name unless its outcome is fresh. A running check is not started again, even if it ignores its signal. */
  readonly #outcomes: LRUCache<string, CheckOutcome>
  readonly #isDecisive: (name: string) => boolean

  /** `isDecisive`: while this check fails, the process is not ready. */
  constructor(now: () => number, isDecisive: (name: string) => boolean = () => true) {
    this.#isDecisive = isDecisive
    const fetchMethod = async (name: string): Promise<CheckOutcome | undefined> =>
      await this.#checks
        .get(name)?.(AbortSignal.timeout(deadlineMs))
        .catch((error: unknown) => failed(summaryOf(error)))
    this.#outcomes = new LRUCache({ max: maxChecks, ttl: freshMs, ttlResolution: 0, perf: { now }, fetchMethod })
  }

  add(checks: Checks): void {
    for (const [name, check] of Object.entries(checks)) this.#checks.set(name, check)
  }

  /** At most a second old, in the order of adding. */
  async results(): Promise<readonly CheckResult[]> {
    return await Promise.all([...this.#checks.keys()].map(async (name) => ({ name, ...(await this.#outcomeOf(name)) })))
  }

  async #outcomeOf(name: string): Promise<CheckOutcome> {
    const timedOut = failed(`has not answered for ${deadlineMs / 1_000} s`)
    return (await Promise.race([this.#outcomes.fetch(name), sleep(deadlineMs, timedOut, { ref: false })])) ?? timedOut
  }

  isReady(results: readonly CheckResult[]): boolean {
    return results.every(({ ok, name }) => ok || !this.#isDecisive(name))
  }
}

export function renderHealth(results: readonly CheckResult[], isReady: boolean): string {
  const checks = results.map(({ name, ...outcome }) => [name, outcome])
  return JSON.stringify({ status: isReady ? 'ready' : 'not ready', checks: Object.fromEntries(checks) })
}
