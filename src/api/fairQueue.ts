/** Returns a permit. */
export type Release = () => void

/** Why there is no permit: others hold too much (`full`), the tenant itself does (`own-share`), or the caller has aborted. */
type NotAdmitted = 'full' | 'own-share' | 'aborted'
export type Permit = Release | NotAdmitted

type Bounds = {
  /** The weight of all permits together, and of one tenant's. */
  readonly maxRunning: number
  readonly maxRunningPerTenant: number
  readonly maxWaiting?: number
  readonly maxWaitMs?: number
}

type Waiter = { readonly weight: number; admit(): void }
type Tenant = { running: number; readonly waiting: Set<Waiter> }

/**
 * A semaphore whose bounded queue serves tenants round robin, so that a tenant that asks for much delays only itself. A permit weighs 1 unless
 * told; one that is heavier than its tenant's share gets all of that.
 */
export class FairQueue {
  readonly #bounds: Bounds
  /** Tenants that run or wait, in the order of their turns: the first one is next. */
  readonly #tenants = new Map<string, Tenant>()
  #running = 0
  #waiting = 0
  /** The part of all room, and of each tenant's, that is given away, at most 1. `open` changes it. */
  share = 1

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** How many tenants are remembered. */
  get tenants(): number {
    return this.#tenants.size
  }

  async acquire(name: string, signal: AbortSignal, wanted = 1, maxWaitMs = this.#bounds.maxWaitMs): Promise<Permit> {
    if (signal.aborted) return 'aborted'
    const tenant = this.#tenantOf(name)
    const weight = Math.min(wanted, this.#bounds.maxRunningPerTenant)
    if (tenant.waiting.size === 0 && this.#hasRoomFor(tenant, weight)) return this.#take(name, tenant, weight)
    if (this.#waiting >= (this.#bounds.maxWaiting ?? 0)) return 'full'
    return await this.#wait(name, tenant, weight, maxWaitMs, signal)
  }

  /** A permit at once, or none. */
  acquireNow(name: string): Permit {
    const tenant = this.#tenantOf(name)
    if (tenant.waiting.size > 0 || tenant.running + 1 > this.#bounds.maxRunningPerTenant) return 'own-share'
    return this.#running + 1 > this.#bounds.maxRunning ? 'full' : this.#take(name, tenant, 1)
  }

  /** Gives away this share from now on; at least one permit whatever it weighs. */
  open(share: number): void {
    if (share === this.share) return
    this.share = share
    this.#admitWaiting()
  }

  /** Remembered only once it runs or waits. */
  #tenantOf = (name: string): Tenant => this.#tenants.get(name) ?? { running: 0, waiting: new Set() }

  #hasRoomFor = (tenant: Tenant, weight: number): boolean =>
    this.#fits(this.#running, weight, this.#bounds.maxRunning) &&
    this.#fits(tenant.running, weight, this.#bounds.maxRunningPerTenant)

  #fits = (taken: number, weight: number, room: number): boolean => taken === 0 || taken + weight <= room * this.share

  #wait(name: string, tenant: Tenant, weight: number, maxWaitMs: number | undefined, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<Permit>()
    const dequeue = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      tenant.waiting.delete(waiter)
      this.#waiting--
    }
    const giveUp = (why: NotAdmitted): void => {
      dequeue()
      this.#forget(name, tenant)
      resolve(why)
      // What waited behind it may be lighter.
      this.#admitWaiting()
    }
    const onAbort = (): void => giveUp('aborted')
    // Its own waiters in front of it count as its own, too.
    const fitsOthers = (): boolean => this.#fits(this.#running - tenant.running, weight, this.#bounds.maxRunning)
    const timer = setTimeout(() => giveUp(fitsOthers() ? 'own-share' : 'full'), maxWaitMs)
    signal.addEventListener('abort', onAbort, { once: true })
    const waiter = {
      weight,
      admit: (): void => {
        dequeue()
        resolve(this.#take(name, tenant, weight))
      },
    }
    this.#tenants.set(name, tenant)
    tenant.waiting.add(waiter)
    this.#waiting++
    return promise
  }

  /** Takes a permit, and moves the tenant behind all others. */
  #take(name: string, tenant: Tenant, weight: number): Release {
    this.#tenants.delete(name)
    this.#tenants.set(name, tenant)
    tenant.running += weight
    this.#running += weight
    return () => {
      tenant.running -= weight
      this.#running -= weight
      this.#forget(name, tenant)
      this.#admitWaiting()
    }
  }

  /** Gives room to the first tenant in turn whose next waiter finds enough, until none does. */
  #admitWaiting(): void {
    for (let isAdmitted = this.#waiting > 0; isAdmitted; ) {
      const next = this.#tenants.values().find((tenant) => {
        const [first] = tenant.waiting
        return first !== undefined && this.#hasRoomFor(tenant, first.weight)
      })
      isAdmitted = next !== undefined
      next?.waiting.values().next().value?.admit()
    }
  }

  #forget(name: string, tenant: Tenant): void {
    if (tenant.running === 0 && tenant.waiting.size === 0) this.#tenants.delete(name)
  }
}
