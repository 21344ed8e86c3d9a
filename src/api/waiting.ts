import type { Registry } from 'prom-client'
import { stallMs } from '../core/http/httpServer.ts'
import { type EntityType, type TeamId, type TeamList, teamList } from '../core/model/ids.ts'
import { metricsIn } from '../core/monitoring/metrics.ts'
import type { ListVersion } from '../core/redis/listVersions.ts'
import type { RouteContext, WaitForChange, WatchKey } from './context.ts'
import { unavailable } from './errors.ts'
import { FairQueue, type Release } from './fairQueue.ts'
import { whenClosed } from './requestsInFlight.ts'

/** A list may change without new rows for a request. So the pauses between its searches double, up to `maxPauseMs`. */
const firstPauseMs = 100
const maxPauseMs = 2_000

type WaitingDeps = {
  readonly room: WaitingRoom
  readonly watchKey: WatchKey
  /** Validates the key again, and reads list version and watermark again. */
  checkAgain(ctx: RouteContext): Promise<void>
  /** A monotonic clock. */
  elapsedMs(): number
}

/**
 * Delays a request until its search finds a row. Between searches it waits, without a query in flight, until an indexer replaces the version of its
 * list.
 */
export const createWaiting =
  (deps: WaitingDeps): WaitForChange =>
  async (ctx, type, hasRows) => {
    const seconds = preferredWaitSeconds(ctx.get('Prefer'))
    const releasePlace = seconds === undefined ? undefined : deps.room.enter(ctx.state.accountKey.teamId)
    if (seconds === undefined || releasePlace === undefined) return
    ctx.set('Preference-Applied', `wait=${seconds}`)
    ctx.state.waitedMs = () => 0
    await untilRows(ctx, deps, { type, hasRows, waitMs: seconds * 1_000 }).finally(releasePlace)
  }

/** `hasRows` searches, and also makes the answer. */
type WaitRequest = { readonly type: EntityType; readonly waitMs: number; hasRows(): Promise<boolean> }

/** Version and watermark are read before each search, so the answer has every change before its watermark. */
async function untilRows(ctx: RouteContext, deps: WaitingDeps, { type, hasRows, waitMs }: WaitRequest): Promise<void> {
  const { room, elapsedMs, checkAgain } = deps
  const list = teamList(type, ctx.state.accountKey.teamId)
  const deadlineMs = elapsedMs() + waitMs
  let pauseMs = 0
  while (!(await hasRows())) {
    const version = ctx.state.freshness.versions[type]
    const nowMs = elapsedMs()
    // Without a version, no change of the list would be noticed.
    if (room.isClosed || version === null || nowMs >= deadlineMs) return
    await delay(ctx, deps, { list, version, notBeforeMs: nowMs + pauseMs, deadlineMs })
    await checkAgain(ctx)
    pauseMs = Math.min(maxPauseMs, Math.max(firstPauseMs, 2 * pauseMs))
  }
}

async function delay(ctx: RouteContext, { room, watchKey, elapsedMs }: WaitingDeps, wait: Wait): Promise<void> {
  const { req, res, state } = ctx
  const wakeController = new AbortController()
  const wake = (): void => wakeController.abort()
  const unwatch = watchKey(ctx, wake)
  whenClosed(res, wake)
  // Otherwise the silent socket would time out.
  req.socket.setTimeout(0)
  // `waitedMs` grows during a delay, but not between delays.
  const startedMs = elapsedMs()
  const earlierMs = state.waitedMs?.() ?? 0
  state.waitedMs = () => earlierMs + elapsedMs() - startedMs
  await room.untilChanged(wait, wakeController.signal)
  const waitedMs = state.waitedMs()
  state.waitedMs = () => waitedMs
  unwatch()
  res.off('close', wake)
  if (res.closed) throw unavailable('capacity', new Error('the client has disconnected'))
  req.socket.setTimeout(stallMs)
}

export const maxWaitSeconds = 60

/** Quoted strings may contain commas. An unclosed string extends to the end, which keeps the time linear. */
const preference = /(?:[^,"]|"(?:[^"\\]|\\.?)*(?:"|$))+/g
const waitPreference = /^\s*wait\s*(?:[=;]|$)/i
/** `wait=30` and `wait="30"`. */
const waitSeconds = /^\s*wait\s*=\s*(?<quote>"?)(?<seconds>\d{1,9})\k<quote>\s*(?:;|$)/i

/** The first `wait` of a `Prefer` header (RFC 7240), in seconds. Undefined unless it is from 1 to 60. */
export function preferredWaitSeconds(prefer: string): number | undefined {
  const first = prefer.match(preference)?.find((text) => waitPreference.test(text))
  // NaN without a match.
  const seconds = Number(waitSeconds.exec(first ?? '')?.groups?.['seconds'])
  return seconds >= 1 && seconds <= maxWaitSeconds ? seconds : undefined
}

const placeBounds = { maxRunning: 1_000, maxRunningPerTeam: 10 }
const tickMs = 25
/** Without this bound, a change of many lists, or a common deadline, would start as many queries at once. */
const maxWokenPerTick = 50

/** Lasts until `list` has another version; at least until `notBeforeMs`, at most until `deadlineMs`. */
export type Wait = {
  readonly list: TeamList
  readonly version: ListVersion
  readonly notBeforeMs: number
  readonly deadlineMs: number
}

type Waiter = Wait & { resume(): void }
/** In the order of `lists`; null for a list without a version. */
type ReadVersions = (lists: readonly TeamList[]) => Promise<readonly (ListVersion | null)[]>

/** Each tick reads the versions of all lists with waiting requests in one round trip to Redis. */
export class WaitingRoom {
  readonly #readVersions: ReadVersions
  readonly #elapsedMs: () => number
  readonly #places = new FairQueue(placeBounds)
  readonly #waiters = new Set<Waiter>()
  #timer: NodeJS.Timeout | undefined
  #isReading = false
  isClosed = false

  constructor(readVersions: ReadVersions, elapsedMs: () => number, registry: Registry) {
    this.#readVersions = readVersions
    this.#elapsedMs = elapsedMs
    const help = 'Requests that wait for a change (Prefer: wait)'
    metricsIn(registry).gauge('tidemark_http_requests_waiting', help, () => this.#waiters.size)
  }

  /** Undefined when all places are in use, or the process is stopping. */
  enter(teamId: TeamId): Release | undefined {
    const permit = this.isClosed ? undefined : this.#places.acquireNow(teamId)
    return permit?.kind === 'granted' ? permit.release : undefined
  }

  async untilChanged(wait: Wait, signal: AbortSignal): Promise<void> {
    if (this.isClosed || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiter = { ...wait, resume: resolve }
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
    waiter.resume()
    if (this.#waiters.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const nowMs = this.#elapsedMs()
    this.#wakeFirst([...this.#waiters].filter(({ deadlineMs }) => deadlineMs <= nowMs))
    if (this.#isReading) return
    const ready = [...this.#waiters].filter(({ notBeforeMs }) => notBeforeMs <= nowMs)
    if (ready.length === 0) return
    this.#isReading = true
    const finish = (toWake: readonly Waiter[]): void => {
      this.#isReading = false
      this.#wakeFirst(toWake)
    }
    // If Redis fails, all waits end: each request then reads Redis itself, and gets 503.
    this.#waitersOfChangedLists(ready).then(finish, () => finish(ready))
  }

  async #waitersOfChangedLists(waiters: readonly Waiter[]): Promise<readonly Waiter[]> {
    const lists = [...new Set(waiters.map(({ list }) => list))]
    const versions = await this.#readVersions(lists)
    const versionOf = new Map(lists.map((list, index) => [list, versions[index]]))
    return waiters.filter(({ list, version }) => versionOf.get(list) !== version)
  }

  /** Some waiters may have been woken meanwhile. Later ticks wake the rest. */
  #wakeFirst(waiters: readonly Waiter[]): void {
    const stillWaiting = waiters.filter((waiter) => this.#waiters.has(waiter))
    for (const waiter of stillWaiting.slice(0, maxWokenPerTick)) this.#wake(waiter)
  }
}
