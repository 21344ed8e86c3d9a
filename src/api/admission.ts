import type { ServerResponse } from 'node:http'
import type { TeamId } from '../core/model/ids.ts'
import type { ApiMiddleware, ApiState } from './context.ts'
import { apiError, unavailable } from './errors.ts'
import { FairQueue, type NotAdmitted, type Release } from './fairQueue.ts'

/** Concurrent requests of one process, authenticated or not. */
const maxRequests = 8_192
/** Concurrent authenticated requests, in total and of one team. Each may hold an answer in memory that its client has not read. */
const maxAuthenticated = { maxRunning: 1_024, maxRunningPerTenant: 512 }
const retryAfterSeconds = 2

/** The permit, or 429 if the team's own requests leave no room, else 503. */
export function granted(permit: Release | NotAdmitted, ofWhat: string): Release {
  if (permit === 'own-share')
    throw apiError('rate_limited', `too many ${ofWhat} of the team are running; retry when one has ended`, {
      headers: { 'Retry-After': String(retryAfterSeconds) },
      rejection: 'rate_limited',
    })
  if (typeof permit === 'string') throw unavailable('capacity', new Error(`too many ${ofWhat} (${permit})`))
  return permit
}

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

/** Refuses requests while too many are in progress. */
export function admitRequests(): ApiMiddleware {
  let inProgress = 0
  return (ctx, next) => {
    if (inProgress >= maxRequests) throw unavailable('capacity', new Error('too many requests'))
    inProgress++
    whenClosed(ctx.res, () => inProgress--)
    return next()
  }
}

/**
 * Refuses a team's request while too many of the team are in progress, so that one team leaves capacity for the others. The request returns
 * its permit while it waits for a change.
 */
export function createTeamAdmission() {
  const queue = new FairQueue(maxAuthenticated)
  return (ctx: { readonly res: ServerResponse; readonly state: Pick<ApiState, 'permit'> }, teamId: TeamId): void => {
    const acquired = queue.acquireNow(teamId)
    if (typeof acquired === 'string') throw unavailable('capacity', new Error('too many requests of one team'))
    let release: Release | undefined = acquired
    const pause = (): void => {
      release?.()
      release = undefined
    }
    const resume = (): void => {
      if (!ctx.res.closed) release ??= queue.takeBack(teamId)
    }
    whenClosed(ctx.res, pause)
    ctx.state.permit = { pause, resume }
  }
}
