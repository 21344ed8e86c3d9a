import type { ServerResponse } from 'node:http'
import type { TeamId } from '../core/model/ids.ts'
import type { ApiMiddleware, ApiState } from './context.ts'
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
    if ((this.#perTenant.get(tenant) ?? 0) >= this.#maxPerTenant) return 'tenant-reached'
    if (this.#total >= this.#maxTotal) return 'total-reached'
    return this.take(tenant)
  }

  /** Takes a permit beyond any limit, for who was admitted before. */
  take(tenant: string): Release {
    this.#perTenant.set(tenant, (this.#perTenant.get(tenant) ?? 0) + 1)
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

/** Aborted when the client disconnects before its answer is complete. */
export function disconnectionOf(response: ServerResponse): AbortSignal {
  const disconnected = new AbortController()
  whenClosed(response, () => {
    // A complete answer has nothing left to abort, and every abort constructs an error.
    if (!response.writableFinished) disconnected.abort()
  })
  return disconnected.signal
}

/** Gives a request its permit, which it returns when its response is closed. */
function holdPermit(ctx: PermitHolder, permits: Permits, tenant: string, acquired: Release): void {
  let release: Release | undefined = acquired
  const pause = (): void => {
    release?.()
    release = undefined
  }
  const resume = (): void => {
    if (!ctx.res.closed) release ??= permits.take(tenant)
  }
  whenClosed(ctx.res, pause)
  ctx.state.permits = [...(ctx.state.permits ?? []), { pause, resume }]
}

type PermitHolder = { readonly res: ServerResponse; readonly state: Pick<ApiState, 'permits'> }

/** Returns a request's permits while it does nothing but wait, until the returned function is called. */
export function pausePermits({ state: { permits = [] } }: PermitHolder): () => void {
  for (const permit of permits) permit.pause()
  return () => {
    for (const permit of permits) permit.resume()
  }
}

/** Refuses requests while too many are in progress. */
export function admitRequests(): ApiMiddleware {
  const permits = new Permits({ total: maxRequests, perTenant: maxRequests })
  return (ctx, next) => {
    const permit = permits.acquire('all')
    if (typeof permit === 'string') throw overCapacity('too many requests are in progress')
    holdPermit(ctx, permits, 'all', permit)
    return next()
  }
}

/** Refuses a team's request while too many of the team are in progress, so that one team leaves capacity for the others. */
export function createTeamAdmission(): (ctx: PermitHolder, teamId: TeamId) => void {
  const permits = new Permits(maxAuthenticated)
  return (ctx, teamId) => {
    const permit = permits.acquire(teamId)
    if (typeof permit === 'string') throw overCapacity('too many requests of one team are in progress')
    holdPermit(ctx, permits, teamId, permit)
  }
}
