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
/** The waiter that is next, but finds too little room, and the weight that runs of all that was admitted before it since then. */
type Next = { readonly waiter: Waiter; readonly tenant: Tenant; overtaking: number }

/**
 * A semaphore whose bounded queue serves tenants round robin, so that a tenant that asks for much delays only itself. A permit weighs 1 unless
 * told; one that is heavier than its tenant's share gets all of that.
 *
 * Room that becomes free is kept for the next waiter in turn that its own tenant's share allows. Others are admitted before it only into what it
 * will leave free: so it waits no longer than for the permits that were running when it became the next one, and one heavy query is
 * neither overtaken for ever by light ones, nor keeps them waiting while a slow one holds the room.
 */
export class FairQueue {
  readonly #bounds: Bounds
  /** Tenants that run or wait, in the order of their turns: the first one is next. */
  readonly #tenants = new Map<string, Tenant>()
  #running = 0
  #waiting = 0
  #next: Next | undefined
  /** The part of all room, and of each tenant's, that is given away, at most 1. `open` changes it. */
  share = 1

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** How many tenants are remembered. */
  get tenants(): number {
    return this.#tenants.size
  }

  /** The part of all room that is taken. */
  get taken(): number {
    return this.#running / this.#bounds.maxRunning
  }

  async acquire(name: string, signal: AbortSignal, wanted = 1, maxWaitMs = this.#bounds.maxWaitMs): Promise<Permit> {
    if (signal.aborted) return 'aborted'
    const tenant = this.#tenantOf(name)
    const weight = Math.min(wanted, this.#bounds.maxRunningPerTenant)
    const isFirst = tenant.waiting.size === 0
    if (isFirst && this.#isWithinShare(tenant, weight) && this.#hasRoomFor(weight))
      return this.#take(name, tenant, weight)
    if (this.#waiting >= (this.#bounds.maxWaiting ?? 0)) return 'full'
    return await this.#wait(name, tenant, weight, maxWaitMs, signal)
  }

  /** A permit at once, or none. */
  acquireNow(name: string): Permit {
    const tenant = this.#tenantOf(name)
    if (tenant.waiting.size > 0 || tenant.running + 1 > this.#bounds.maxRunningPerTenant) return 'own-share'
    return this.#hasRoomFor(1) ? this.#take(name, tenant, 1) : 'full'
  }

  /** Gives away this share from now on; at least one permit whatever it weighs. */
  open(share: number): void {
    if (share === this.share) return
    this.share = share
    this.#admitWaiting()
  }

  /** Remembered only once it runs or waits. */
  #tenantOf = (name: string): Tenant => this.#tenants.get(name) ?? { running: 0, waiting: new Set() }

  #isWithinShare = (tenant: Tenant, weight: number): boolean =>
    this.#fits(tenant.running, weight, this.#bounds.maxRunningPerTenant)

  /** Whether there is room, also beside the waiter that is next. */
  #hasRoomFor = (weight: number): boolean =>
    this.#fits(this.#running, weight, this.#bounds.maxRunning) &&
    (this.#next === undefined ||
      this.#next.waiter.weight + this.#next.overtaking + weight <= this.#bounds.maxRunning * this.share)

  #fits = (taken: number, weight: number, room: number): boolean => taken === 0 || taken + weight <= room * this.share

  #wait(name: string, tenant: Tenant, weight: number, maxWaitMs: number | undefined, signal: AbortSignal) {
    const { promise, resolve } = Promise.withResolvers<Permit>()
    const dequeue = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      tenant.waiting.delete(waiter)
      this.#waiting--
      if (this.#next?.waiter === waiter) this.#next = undefined
    }
    const giveUp = (why: NotAdmitted): void => {
      dequeue()
      this.#forget(name, tenant)
      resolve(why)
      // What waited behind it may be lighter.
      this.#admitWaiting()
    }
    const onAbort = (): void => giveUp('aborted')
    const waitsForOthers = (): boolean => {
      // What its own waiters in front of it wait for counts as its own.
      const isFirst = tenant.waiting.values().next().value === waiter
      const fitsOthers = this.#fits(this.#running - tenant.running, weight, this.#bounds.maxRunning)
      return !fitsOthers || (isFirst && this.#isWithinShare(tenant, weight))
    }
    const timer = setTimeout(() => giveUp(waitsForOthers() ? 'full' : 'own-share'), maxWaitMs)
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
    // It may be the next one.
    this.#admitWaiting()
    return promise
  }

  /** Takes a permit, and moves the tenant behind all others. */
  #take(name: string, tenant: Tenant, weight: number): Release {
    this.#tenants.delete(name)
    this.#tenants.set(name, tenant)
    const next = this.#next
    if (next !== undefined) next.overtaking += weight
    tenant.running += weight
    this.#running += weight
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      if (next !== undefined) next.overtaking -= weight
      tenant.running -= weight
      this.#running -= weight
      this.#forget(name, tenant)
      this.#admitWaiting()
    }
  }

  #admitWaiting(): void {
    if (this.#waiting === 0) return
    for (let waiter = this.#admissible(); waiter !== undefined; waiter = this.#admissible()) waiter.admit()
  }

  /** The waiter that is next as soon as there is room for it, else the first one in turn that finds room beside it. */
  #admissible(): Waiter | undefined {
    // `open` may have made its tenant's share smaller.
    if (this.#next && !this.#isWithinShare(this.#next.tenant, this.#next.waiter.weight)) this.#next = undefined
    const next = this.#next?.waiter
    if (next !== undefined && this.#fits(this.#running, next.weight, this.#bounds.maxRunning)) return next
    for (const tenant of this.#tenants.values()) {
      const [first] = tenant.waiting
      if (first === undefined || !this.#isWithinShare(tenant, first.weight)) continue
      if (this.#hasRoomFor(first.weight)) return first
      this.#next ??= { waiter: first, tenant, overtaking: 0 }
    }
    return undefined
  }

  #forget(name: string, tenant: Tenant): void {
    if (tenant.running === 0 && tenant.waiting.size === 0) this.#tenants.delete(name)
  }
}
