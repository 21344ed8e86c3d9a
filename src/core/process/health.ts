import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { summaryOf } from './log.ts'

/** Resolves with the present problem of a part, or undefined when healthy. A rejection counts as a problem. */
export type Check = (signal: AbortSignal) => Promise<string | undefined>

export type Checks = Readonly<Record<string, Check>>

type CheckResult = { readonly name: string; readonly problem: string | undefined }

const deadlineMs = 2_000
/** How long a result is cached. */
const freshMs = 1_000
/** More than any process has. */
const maxChecks = 100

/** Runs checks on request. A check that takes longer than two seconds counts as a problem. */
export class Health {
  readonly #checks = new Map<string, Check>()
  /** Of each check by name. One run at a time: a check that ignores its signal is awaited instead of being started again. */
  readonly #results: LRUCache<string, CheckResult>

  constructor(now: () => number) {
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
}

export const isHealthy = (results: readonly CheckResult[]): boolean =>
  results.every(({ problem }) => problem === undefined)

/** The body of `/readyz`: every check with its result. */
export function renderHealth(results: readonly CheckResult[]): string {
  const checks = results.map(({ name, problem }) => [name, { ok: problem === undefined, problem }])
  return JSON.stringify({ status: isHealthy(results) ? 'ready' : 'not ready', checks: Object.fromEntries(checks) })
}
