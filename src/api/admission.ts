import type { ServerResponse } from 'node:http'
import type { TeamId } from '../core/model/ids.ts'
import type { ApiMiddleware } from './context.ts'
import { type ApiError, unavailable } from './errors.ts'

/** Concurrent requests of one process, authenticated or not. */
const maxRequests = 8_192
/** Concurrent authenticated requests, in total and of one team. Each may hold an answer in memory that its client has not read. */
const maxAuthenticated = { total: 1_024, perTenant: 512 }

/** Returns a permit. */
export type Release = () => void

/** A semaphore with a limit in total and a limit for each tenant. */
export class Permits {
  readonly #maxTotal: number
  readonly #maxPerTenant: number
  readonly #perTenant = new Map<string, number>()
  #total = 0

  constructor({ total, perTenant }: { readonly total: number; readonly perTenant: number }) {
    this.#maxTotal = total
    this.#maxPerTenant = perTenant
  }

  /** Takes a permit, or says which of the two limits is reached. */
  acquire(tenant: string): Release | 'total-reached' | 'tenant-reached' {
    const count = this.#perTenant.get(tenant) ?? 0
    if (count >= this.#maxPerTenant) return 'tenant-reached'
    if (this.#total >= this.#maxTotal) return 'total-reached'
    this.#perTenant.set(tenant, count + 1)
    this.#total++
    return () => {
      const left = (this.#perTenant.get(tenant) ?? 1) - 1
      if (left === 0) this.#perTenant.delete(tenant)
      else this.#perTenant.set(tenant, left)
      this.#total--
    }
  }
}

/** The error of a request for which there is no capacity. */
export const overCapacity = (what: string): ApiError => unavailable('capacity', new Error(`no capacity: ${what}`))

/** Calls `listener` when the response is closed; at once if it is closed already, because a client may disconnect early. */
export function whenClosed(response: ServerResponse, listener: () => void): void {
  if (response.closed) listener()
  else response.once('close', listener)
}

/** Refuses requests while too many are in progress. */
export function admitRequests(): ApiMiddleware {
  const permits = new Permits({ total: maxRequests, perTenant: maxRequests })
  return (ctx, next) => {
    const permit = permits.acquire('all')
    if (typeof permit === 'string') throw overCapacity('too many requests are in progress')
    whenClosed(ctx.res, permit)
    return next()
  }
}

/** Refuses a team's request while too many of the team are in progress, so that one team leaves capacity for the others. */
export function createTeamAdmission(): (response: ServerResponse, teamId: TeamId) => void {
  const permits = new Permits(maxAuthenticated)
  return (response, teamId) => {
    const permit = permits.acquire(teamId)
    if (typeof permit === 'string') throw overCapacity('too many requests of one team are in progress')
    whenClosed(response, permit)
  }
}
