import { setTimeout as sleep } from 'node:timers/promises'
import { summaryOf } from './log.ts'

/** Says what keeps a part from its work just now; undefined when nothing does. Rejecting says so, too. */
export type Check = (signal: AbortSignal) => Promise<string | undefined>

/** Checks by name. */
export type Checks = Readonly<Record<string, Check>>

/** What a check said, and when. */
export type CheckResult = { readonly name: string; readonly problem: string | undefined; readonly atMs: number }

const deadlineMs = 2_000
/** However many ask, a check runs no more often. */
const freshMs = 1_000

/** Runs checks when their results are asked for. None keeps anybody waiting for longer than two seconds. */
export class Health {
  readonly #clock: () => number
  readonly #watched: Watched[] = []

  constructor(clock: () => number) {
    this.#clock = clock
  }

  add(checks: Checks): void {
    for (const [name, check] of Object.entries(checks)) this.#watched.push(new Watched(name, check, this.#clock))
  }

  /** What every check says, none of it older than a second, in the order in which they were added. */
  results(): Promise<readonly CheckResult[]> {
    return Promise.all(this.#watched.map((each) => each.result()))
  }
}

class Watched {
  readonly #name: string
  readonly #check: Check
  readonly #clock: () => number
  #known: CheckResult | undefined
  #underWay: Promise<CheckResult> | undefined

  constructor(name: string, check: Check, clock: () => number) {
    this.#name = name
    this.#check = check
    this.#clock = clock
  }

  async result(): Promise<CheckResult> {
    const nowMs = this.#clock()
    if (this.#known !== undefined && nowMs - this.#known.atMs < freshMs) return this.#known
    // Not every check heeds its signal: one that is still under way is never started twice.
    this.#underWay ??= this.#run().finally(() => {
      this.#underWay = undefined
    })
    const waited = new AbortController()
    const late = sleep(deadlineMs, undefined, { signal: waited.signal }).then(() =>
      this.#said(`has not answered for ${deadlineMs / 1_000} s`),
    )
    // Whoever does not win is not waited for.
    late.catch(() => undefined)
    return await Promise.race([this.#underWay, late]).finally(() => waited.abort())
  }

  async #run(): Promise<CheckResult> {
    const answer = this.#check(AbortSignal.timeout(deadlineMs)).catch(summaryOf)
    this.#known = this.#said(await answer)
    return this.#known
  }

  #said(problem: string | undefined): CheckResult {
    return { name: this.#name, problem, atMs: this.#clock() }
  }
}

/** Whether no check has a problem. */
export const isHealthy = (results: readonly CheckResult[]): boolean =>
  results.every(({ problem }) => problem === undefined)

/** The body of a probe: every check with its result and age. */
export function renderHealth(results: readonly CheckResult[], nowMs: number): string {
  const checks = results.map(({ name, problem, atMs }) => {
    const ageSeconds = Math.max(0, nowMs - atMs) / 1_000
    return [name, problem === undefined ? { ok: true, ageSeconds } : { ok: false, problem, ageSeconds }] as const
  })
  return JSON.stringify({ status: isHealthy(results) ? 'ready' : 'not ready', checks: Object.fromEntries(checks) })
}
