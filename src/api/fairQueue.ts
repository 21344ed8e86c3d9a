import type { Leave } from './permits.ts'

/** `full`: nobody more may wait; `late`: no place came free in time; `gone`: nobody waits for it any more. */
export type NotAdmitted = 'full' | 'late' | 'gone'

type Waiting = { admit(): void }
type Tenant = { running: number; readonly waiting: Set<Waiting> }

/**
 * Places that several tenants share: so many are taken at once in all and by each party, so many wait, so long at most. A place
 * that comes free goes to the party that has waited longest for its turn, so that one that asks for many delays itself alone.
 */
export class FairQueue {
  readonly #bounds: Bounds
  /** Those that run or wait; the first in order is the next whose turn it is. */
  readonly #tenants = new Map<string, Tenant>()
  #running = 0
  #waiting = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** Resolves with a place, or with why there is none. */
  async enter(name: string, signal: AbortSignal): Promise<Leave | NotAdmitted> {
    if (signal.aborted) return 'gone'
    const party = this.#tenants.get(name) ?? { running: 0, waiting: new Set() }
    this.#tenants.set(name, party)
    if (this.#hasPlaceFor(party) && party.waiting.size === 0) return this.#take(name, party)
    if (this.#waiting >= this.#bounds.maxWaiting) return 'full'
    return await this.#wait(name, party, signal)
  }

  #hasPlaceFor = ({ running }: Tenant): boolean =>
    this.#running < this.#bounds.maxRunning && running < this.#bounds.maxRunningPerTenant

  #wait(name: string, party: Tenant, signal: AbortSignal): Promise<Leave | NotAdmitted> {
    const { promise, resolve } = Promise.withResolvers<Leave | NotAdmitted>()
    const end = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', leave)
      party.waiting.delete(entry)
      this.#waiting--
    }
    const giveUp = (why: NotAdmitted) => (): void => {
      end()
      this.#forget(name, party)
      resolve(why)
    }
    const leave = giveUp('gone')
    const timer = setTimeout(giveUp('late'), this.#bounds.maxWaitMs)
    signal.addEventListener('abort', leave, { once: true })
    const entry = {
      admit: (): void => {
        end()
        resolve(this.#take(name, party))
      },
    }
    party.waiting.add(entry)
    this.#waiting++
    return promise
  }

  /** Whoever gets a place has its next turn after all others. */
  #take(name: string, party: Tenant): Leave {
    this.#tenants.delete(name)
    this.#tenants.set(name, party)
    party.running++
    this.#running++
    return () => {
      party.running--
      this.#running--
      this.#forget(name, party)
      this.#admitNext()
    }
  }

  /** Gives free places away, one to each party in turn. */
  #admitNext(): void {
    for (const party of this.#tenants.values()) {
      const [first] = party.waiting
      if (first === undefined || !this.#hasPlaceFor(party)) continue
      first.admit()
      return
    }
  }

  #forget(name: string, party: Tenant): void {
    if (party.running === 0 && party.waiting.size === 0) this.#tenants.delete(name)
  }
}

export type Bounds = {
  readonly maxRunning: number
  readonly maxRunningPerTenant: number
  readonly maxWaiting: number
  readonly maxWaitMs: number
}
