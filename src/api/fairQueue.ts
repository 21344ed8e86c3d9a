import type { Release } from './admission.ts'

/** Why no permit was given: the queue is full, the wait was too long, or the caller aborted it. */
export type NotAdmitted = 'queue-full' | 'timed-out' | 'aborted'

type Waiter = { admit(): void }
type Tenant = { running: number; readonly waiting: Set<Waiter> }

/**
 * A semaphore with a bounded queue. Tenants are served round robin: a free permit goes to the waiting tenant whose last turn is longest
 * ago. So a tenant that asks for many permits delays only itself.
 */
export class FairQueue {
  readonly #bounds: Bounds
  /** Tenants that run or wait, in the order of their turns: the first one is next. */
  readonly #tenants = new Map<string, Tenant>()
  #running = 0
  #waiting = 0

  constructor(bounds: Bounds) {
    this.#bounds = bounds
  }

  /** Resolves with a permit to release, or with why there is none. */
  async acquire(name: string, signal: AbortSignal): Promise<Release | NotAdmitted> {
    if (signal.aborted) return 'aborted'
    const tenant = this.#tenants.get(name) ?? { running: 0, waiting: new Set() }
    this.#tenants.set(name, tenant)
    if (this.#hasPermitFor(tenant) && tenant.waiting.size === 0) return this.#take(name, tenant)
    if (this.#waiting >= this.#bounds.maxWaiting) return 'queue-full'
    return await this.#wait(name, tenant, signal)
  }

  /** A permit at once, or which limit is reached. */
  acquireNow(name: string): Release | 'total-reached' | 'tenant-reached' {
    const tenant = this.#tenants.get(name) ?? { running: 0, waiting: new Set() }
    if (this.#running >= this.#bounds.maxRunning) return 'total-reached'
    if (!this.#hasPermitFor(tenant) || tenant.waiting.size > 0) return 'tenant-reached'
    return this.#take(name, tenant)
  }

  #hasPermitFor = ({ running }: Tenant): boolean =>
    this.#running < this.#bounds.maxRunning && running < this.#bounds.maxRunningPerTenant

  #wait(name: string, tenant: Tenant, signal: AbortSignal): Promise<Release | NotAdmitted> {
    const { promise, resolve } = Promise.withResolvers<Release | NotAdmitted>()
    const dequeue = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      tenant.waiting.delete(waiter)
      this.#waiting--
    }
    const giveUp = (why: NotAdmitted) => (): void => {
      dequeue()
      this.#forget(name, tenant)
      resolve(why)
    }
    const onAbort = giveUp('aborted')
    const timer = setTimeout(giveUp('timed-out'), this.#bounds.maxWaitMs)
    signal.addEventListener('abort', onAbort, { once: true })
    const waiter = {
      admit: (): void => {
        dequeue()
        resolve(this.#take(name, tenant))
      },
    }
    tenant.waiting.add(waiter)
    this.#waiting++
    return promise
  }

  /** Takes a permit, and moves the tenant behind all others. */
  #take(name: string, tenant: Tenant): Release {
    this.#tenants.delete(name)
    this.#tenants.set(name, tenant)
    tenant.running++
    this.#running++
    return () => {
      tenant.running--
      this.#running--
      this.#forget(name, tenant)
      this.#admitNext()
    }
  }

  /** Gives a released permit to the first tenant in turn that waits and is below its own limit. */
  #admitNext(): void {
    for (const tenant of this.#tenants.values()) {
      const [first] = tenant.waiting
      if (first === undefined || !this.#hasPermitFor(tenant)) continue
      first.admit()
      return
    }
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
