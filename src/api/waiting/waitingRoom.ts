import { Gauge, type Registry } from 'prom-client'
import type { TeamId } from '../../core/model/ids.ts'
import type { TeamList } from '../../core/model/teamList.ts'
import type { ListVersion } from '../../core/stores/listVersions.ts'
import { Permits } from '../admission.ts'

/** Requests that wait in one process, in total and of one team. */
const maxWaiting = { total: 1_000, perTenant: 10 }
/** While somebody waits, the versions of all lists that are waited for are read so often. */
const tickMs = 25
/** A tick lets no more go on: a change of everything, or a common deadline, must not send more queries at once than can be answered in time. */
const maxWokenPerTick = 50

/** Why a wait has ended: its list may have changed, its time is over, the process stops, or its client has disconnected. */
export type Woken = 'changed' | 'over' | 'stopped' | 'gone'

/** What a request waits for: another version of a list. */
export type Wait = {
  readonly list: TeamList
  readonly version: ListVersion
  /** A change is not heard of before this time. */
  readonly notBeforeMs: number
  readonly deadlineMs: number
}

/** The place of one request, in which it may wait several times. */
export type Place = {
  /** Resolves once the list has another version, or the wait has ended for another reason. */
  untilChanged(wait: Wait): Promise<Woken>
  /** Ends a wait as if the list had changed, so that its request looks for itself. */
  wake(): void
  /** Gives the place back; ends a wait with `gone`. */
  leave(): void
}

type RoomDeps = {
  /** The current versions of lists, in their order. */
  readVersions(lists: readonly TeamList[]): Promise<readonly (ListVersion | null)[]>
  /** Time that never steps. */
  readonly elapsedMs: () => number
  /** Calls `tick` every so many milliseconds until the returned function is called. */
  repeat(tick: () => void, everyMs: number): () => void
  readonly registry: Registry
}

type Waiter = Wait & { wake(why: Woken): void }

/**
 * The requests of a process that wait for a change. One ticker serves all of them: it reads the versions of all lists that are waited
 * for in one round trip to Redis, and looks for waits whose time is over. It runs only while somebody waits. A waiting request costs
 * neither timer nor connection to Redis.
 */
export class WaitingRoom {
  readonly #deps: RoomDeps
  readonly #places = new Permits(maxWaiting)
  readonly #waiters = new Set<Waiter>()
  #stopTicking: (() => void) | undefined
  #isReading = false
  #isClosed = false

  constructor(deps: RoomDeps) {
    this.#deps = deps
    const waiters = this.#waiters
    new Gauge({
      name: 'tidemark_http_requests_waiting',
      help: 'Requests that wait for a change (Prefer: wait)',
      registers: [deps.registry],
      collect() {
        this.set(waiters.size)
      },
    })
  }

  /** A place for a request of the team; undefined when all are taken, or the process stops. */
  enter(teamId: TeamId): Place | undefined {
    const release = this.#isClosed ? undefined : this.#places.acquire(teamId)
    if (typeof release !== 'function') return undefined
    let hasLeft = false
    let waiter: Waiter | undefined
    return {
      untilChanged: async (wait) => {
        if (hasLeft) return 'gone'
        if (this.#isClosed) return 'stopped'
        const { promise, resolve } = Promise.withResolvers<Woken>()
        waiter = { ...wait, wake: resolve }
        this.#add(waiter)
        return await promise
      },
      wake: () => {
        if (waiter !== undefined) this.#wake(waiter, 'changed')
      },
      leave: () => {
        if (hasLeft) return
        hasLeft = true
        release()
        if (waiter !== undefined) this.#wake(waiter, 'gone')
      },
    }
  }

  /** Lets everybody go on, and nobody wait any more. */
  close(): void {
    this.#isClosed = true
    for (const waiter of this.#waiters) this.#wake(waiter, 'stopped')
  }

  #add(waiter: Waiter): void {
    this.#waiters.add(waiter)
    this.#stopTicking ??= this.#deps.repeat(() => this.#tick(), tickMs)
  }

  #wake(waiter: Waiter, why: Woken): void {
    this.#waiters.delete(waiter)
    waiter.wake(why)
    if (this.#waiters.size > 0) return
    this.#stopTicking?.()
    this.#stopTicking = undefined
  }

  #tick(): void {
    const nowMs = this.#deps.elapsedMs()
    this.#wakeSome(
      [...this.#waiters].filter(({ deadlineMs }) => deadlineMs <= nowMs),
      'over',
    )
    if (this.#isReading) return
    const ready = [...this.#waiters].filter(({ notBeforeMs }) => notBeforeMs <= nowMs)
    if (ready.length === 0) return
    this.#isReading = true
    const wake = (waiters: readonly Waiter[]): void => {
      this.#isReading = false
      this.#wakeSome(waiters, 'changed')
    }
    // When Redis cannot tell, each one shall notice that for itself.
    this.#changedAmong(ready).then(wake, () => wake(ready))
  }

  /** Those whose list has another version than the one with which they wait. */
  async #changedAmong(waiters: readonly Waiter[]): Promise<readonly Waiter[]> {
    const lists = [...new Set(waiters.map(({ list }) => list))]
    const versions = await this.#deps.readVersions(lists)
    const current = new Map(lists.map((list, at) => [list, versions[at]]))
    return waiters.filter(({ list, version }) => current.get(list) !== version)
  }

  #wakeSome(waiters: readonly Waiter[], why: Woken): void {
    let left = maxWokenPerTick
    for (const waiter of waiters) {
      if (!this.#waiters.has(waiter)) continue
      if (left-- === 0) return
      this.#wake(waiter, why)
    }
  }
}
