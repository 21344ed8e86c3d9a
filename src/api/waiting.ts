import type { Registry } from 'prom-client'
import { stallMs } from '../core/http/httpServer.ts'
import { type EntityType, type TeamId, type TeamList, teamList } from '../core/model/ids.ts'
import { metricsIn } from '../core/monitoring/metrics.ts'
import type { ListVersion } from '../core/redis/listVersions.ts'
import type { RouteContext, WaitForChange, WatchKey } from './context.ts'
import { unavailable } from './errors.ts'
import { FairQueue, type Release } from './fairQueue.ts'
import { whenClosed } from './requestsInFlight.ts'

/** How long a request rests after a change that was none for it; doubles each time. */
const firstRestMs = 100
const maxRestMs = 2_000

type WaitingDeps = {
  readonly room: WaitingRoom
  readonly watchKey: WatchKey
  checkAgain(ctx: RouteContext): Promise<void>
  /** Time that never steps. */
  elapsedMs(): number
}

/** A request that waits has no turn to query. When it goes on, `checkAgain` judges its key again and reads the freshness anew. */
export const createWaiting =
  (deps: WaitingDeps): WaitForChange =>
  async (ctx, type, hasRows) => {
    const seconds = preferredWaitSeconds(ctx.get('Prefer'))
    const leave = seconds === undefined ? undefined : deps.room.enter(ctx.state.holder.teamId)
    if (seconds === undefined || leave === undefined) return
    ctx.set('Preference-Applied', `wait=${seconds}`)
    ctx.state.waitedMs = () => 0
    await untilRows(ctx, deps, { type, hasRows, waitMs: seconds * 1_000 }).finally(leave)
  }

type Asked = { readonly type: EntityType; readonly waitMs: number; hasRows(): Promise<boolean> }

/** Looks for rows, and again after each change of the list, the last time when the time is over: so what it has found is no older than the freshness. */
async function untilRows(ctx: RouteContext, deps: WaitingDeps, { type, hasRows, waitMs }: Asked): Promise<void> {
  const { room, elapsedMs, checkAgain } = deps
  const list = teamList(type, ctx.state.holder.teamId)
  const deadlineMs = elapsedMs() + waitMs
  for (let restMs = 0; !(await hasRows()); restMs = nextRestMs(restMs)) {
    const version = ctx.state.freshness.versions[type]
    const nowMs = elapsedMs()
    // An unknown version cannot be seen to change.
    if (room.isClosed || version === null || nowMs >= deadlineMs) return
    await hold(ctx, deps, { list, version, notBeforeMs: nowMs + restMs, deadlineMs })
    await checkAgain(ctx)
  }
}

const nextRestMs = (restMs: number): number => Math.min(maxRestMs, Math.max(firstRestMs, 2 * restMs))

/** Holds the request until its list or its key may have changed, or the wait is over. */
async function hold(ctx: RouteContext, { room, watchKey, elapsedMs }: WaitingDeps, wait: Wait): Promise<void> {
  const { req, res, state } = ctx
  const woken = new AbortController()
  const wake = (): void => woken.abort()
  const unwatch = watchKey(ctx, wake)
  whenClosed(res, wake)
  // Neither side says anything for as long as the request waits.
  req.socket.setTimeout(0)
  const [startedMs, beforeMs] = [elapsedMs(), state.waitedMs?.() ?? 0]
  state.waitedMs = () => beforeMs + elapsedMs() - startedMs
  await room.untilChanged(wait, woken.signal)
  const waitedMs = state.waitedMs()
  state.waitedMs = () => waitedMs
  unwatch()
  res.off('close', wake)
  if (res.closed) throw unavailable('capacity', new Error('the client has disconnected'))
  req.socket.setTimeout(stallMs)
}

export const maxWaitSeconds = 60

/** A preference of `Prefer`, whose quoted strings may hold commas. An open string extends to the end, so that matching stays linear. */
const preference = /(?:[^,"]|"(?:[^"\\]|\\.?)*(?:"|$))+/g
const waitPreference = /^\s*wait\s*(?:[=;]|$)/i
const waitSeconds = /^\s*wait\s*=\s*(?<quote>"?)(?<seconds>\d{1,9})\k<quote>\s*(?:;|$)/i

/** The `wait` of a `Prefer` header (RFC 7240), of which the first counts; undefined, so ignored, unless it is from 1 to 60. */
export function preferredWaitSeconds(prefer: string): number | undefined {
  const first = prefer.match(preference)?.find((each) => waitPreference.test(each))
  const seconds = Number(waitSeconds.exec(first ?? '')?.groups?.['seconds'])
  return seconds >= 1 && seconds <= maxWaitSeconds ? seconds : undefined
}

/** Requests that wait in one process, in total and of one team. */
const maxWaiting = { maxRunning: 1_000, maxRunningPerTenant: 10 }
const tickMs = 25
/** A change of everything, or a common deadline, must not send more queries at once than can be answered in time. */
const maxWokenPerTick = 50

/** What a request waits for: another version of a list, not before a time, not beyond another one. */
export type Wait = {
  readonly list: TeamList
  readonly version: ListVersion
  readonly notBeforeMs: number
  readonly deadlineMs: number
}

type Waiter = Wait & { goOn(): void }
type ReadVersions = (lists: readonly TeamList[]) => Promise<readonly (ListVersion | null)[]>

/**
 * The requests of a process that wait for a change. While there are any, one ticker reads the versions of all their lists in one round trip to
 * Redis, and looks for waits whose time is over. A waiting request costs neither timer nor connection to Redis.
 */
export class WaitingRoom {
  readonly #readVersions: ReadVersions
  readonly #elapsedMs: () => number
  readonly #places = new FairQueue(maxWaiting)
  readonly #waiters = new Set<Waiter>()
  #timer: NodeJS.Timeout | undefined
  #isReading = false
  /** Whether the process stops, so that nobody waits any more. */
  isClosed = false

  /** `readVersions` reads the current versions of lists, in their order. `elapsedMs` never steps. */
  constructor(readVersions: ReadVersions, elapsedMs: () => number, registry: Registry) {
    this.#readVersions = readVersions
    this.#elapsedMs = elapsedMs
    const help = 'Requests that wait for a change (Prefer: wait)'
    metricsIn(registry).gauge('tidemark_http_requests_waiting', help, () => this.#waiters.size)
  }

  /** A place for a request of the team, to be returned; undefined when all are taken, or the process stops. */
  enter(teamId: TeamId): Release | undefined {
    const place = this.isClosed ? undefined : this.#places.acquireNow(teamId)
    return typeof place === 'function' ? place : undefined
  }

  /** Resolves once the list has another version, the time is over, the process stops, or `signal` aborts. */
  async untilChanged(wait: Wait, signal: AbortSignal): Promise<void> {
    if (this.isClosed || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { ...wait, goOn: resolve }
    signal.addEventListener('abort', () => this.#wake(waiter), { once: true })
    this.#waiters.add(waiter)
    this.#timer ??= setInterval(() => this.#tick(), tickMs)
    await promise
  }

  close(): void {
    this.isClosed = true
    for (const waiter of this.#waiters) this.#wake(waiter)
  }

  #wake(waiter: Waiter): void {
    this.#waiters.delete(waiter)
    waiter.goOn()
    if (this.#waiters.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const nowMs = this.#elapsedMs()
    this.#wakeSome([...this.#waiters].filter(({ deadlineMs }) => deadlineMs <= nowMs))
    if (this.#isReading) return
    const ready = [...this.#waiters].filter(({ notBeforeMs }) => notBeforeMs <= nowMs)
    if (ready.length === 0) return
    this.#isReading = true
    const wake = (waiters: readonly Waiter[]): void => {
      this.#isReading = false
      this.#wakeSome(waiters)
    }
    // Without an answer of Redis, each request goes on, and meets the error itself.
    this.#changedAmong(ready).then(wake, () => wake(ready))
  }

  /** Those whose list has another version than the one with which they wait. */
  async #changedAmong(waiters: readonly Waiter[]): Promise<readonly Waiter[]> {
    const lists = [...new Set(waiters.map(({ list }) => list))]
    const versions = await this.#readVersions(lists)
    const current = new Map(lists.map((list, at) => [list, versions[at]]))
    return waiters.filter(({ list, version }) => current.get(list) !== version)
  }

  #wakeSome(waiters: readonly Waiter[]): void {
    const waiting = waiters.filter((waiter) => this.#waiters.has(waiter))
    for (const waiter of waiting.slice(0, maxWokenPerTick)) this.#wake(waiter)
  }
}
