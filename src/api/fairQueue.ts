import type { Release } from './admission.ts'

/**
 * Why no permit was given: the queue is full; the wait was too long, for what others hold (`timed-out`) or for what the tenant holds itself
 * (`own-share`); or the caller aborted it.
 */
export type NotAdmitted = 'queue-full' | 'timed-out' | 'own-share' | 'aborted'

type Waiter = { readonly weight: number; admit(): void }
type Tenant = { running: number; readonly waiting: Set<Waiter> }

/**
 * A semaphore with a bounded queue. Tenants are served round robin: free room goes to the waiting tenant whose last turn is longest
 * ago. So a tenant that asks for much delays only itself. A permit weighs 1 unless told; one that is heavier than all room that its tenant
 * may have gets all of that.
 */
export class FairQueue {
  readonly #bounds: Bounds
  /** Tenants that run or wait, in the order of their turns: the first one is next. */
  readonly #tenants = new Map<string, Tenant>()
  #running = 0
  #waiting = 0
  /** The part of all room that is given away, at most 1. */
  #openShare = 1

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** For how many tenants anything is remembered. */
  get tenants(): number {
    return this.#tenants.size
  }

  /** Resolves with a permit to release, or with why there is none. */
  async acquire(
    name: string,
    signal: AbortSignal,
    wanted = 1,
    maxWaitMs = this.#bounds.maxWaitMs,
  ): Promise<Release | NotAdmitted> {
    if (signal.aborted) return 'aborted'
    const tenant = this.#tenantOf(name)
    const weight = Math.min(wanted, this.#bounds.maxRunningPerTenant)
    if (tenant.waiting.size === 0 && this.#hasRoomFor(tenant, weight)) return this.#take(name, tenant, weight)
    if (this.#waiting >= this.#bounds.maxWaiting) return 'queue-full'
    return await this.#wait(name, tenant, { weight, maxWaitMs }, signal)
  }

  /** A permit at once, or which limit is reached. */
  acquireNow(name: string): Release | 'total-reached' | 'tenant-reached' {
    const tenant = this.#tenantOf(name)
    if (this.#running + 1 > this.#bounds.maxRunning) return 'total-reached'
    if (tenant.waiting.size > 0 || tenant.running + 1 > this.#bounds.maxRunningPerTenant) return 'tenant-reached'
    return this.#take(name, tenant, 1)
  }

  /** Gives away only a part of all room from now on, and of each tenant's; at least one permit whatever it weighs. */
  open(share: number): void {
    this.#openShare = share
    while (this.#admitNext()) {}
  }

  /** Remembered only once it runs or waits. */
  #tenantOf = (name: string): Tenant => this.#tenants.get(name) ?? { running: 0, waiting: new Set() }

  #hasRoomFor = (tenant: Tenant, weight: number): boolean =>
    this.#fits(this.#running, weight, this.#bounds.maxRunning) && this.#isWithinShare(tenant, weight)

  #isWithinShare = ({ running }: Tenant, weight: number): boolean =>
    this.#fits(running, weight, this.#bounds.maxRunningPerTenant)

  #fits = (taken: number, weight: number, room: number): boolean =>
    taken === 0 || taken + weight <= room * this.#openShare

  #wait(
    name: string,
    tenant: Tenant,
    { weight, maxWaitMs }: { readonly weight: number; readonly maxWaitMs: number },
    signal: AbortSignal,
  ): Promise<Release | NotAdmitted> {
    const { promise, resolve } = Promise.withResolvers<Release | NotAdmitted>()
    const dequeue = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      tenant.waiting.delete(waiter)
      this.#waiting--
    }
    const giveUp = (why: () => NotAdmitted) => (): void => {
      dequeue()
      this.#forget(name, tenant)
      resolve(why())
      // What waited behind it may be lighter.
      while (this.#admitNext()) {}
    }
    const onAbort = giveUp(() => 'aborted')
    const whyLate = (): NotAdmitted => (this.#isWithinShare(tenant, weight) ? 'timed-out' : 'own-share')
    const timer = setTimeout(giveUp(whyLate), maxWaitMs)
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
      while (this.#admitNext()) {}
    }
  }

  /** Gives room to the first tenant in turn whose next waiter finds enough; whether there was one. */
  #admitNext(): boolean {
    for (const tenant of this.#tenants.values()) {
      const [first] = tenant.waiting
      if (first === undefined || !this.#hasRoomFor(tenant, first.weight)) continue
      first.admit()
      return true
    }
    return false
  }

  #forget(name: string, tenant: Tenant): void {
    if (tenant.running === 0 && tenant.waiting.size === 0) this.#tenants.delete(name)
  }
}

type Bounds = {
  readonly maxRunning: number
  readonly maxRunningPerTenant: number
  readonly maxWaiting: number
  readonly maxWaitMs: number
}
