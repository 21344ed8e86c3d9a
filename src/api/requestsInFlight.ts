import type { ServerResponse } from 'node:http'
import type { ApiMiddleware } from './context.ts'
import { apiError, unavailable } from './errors.ts'
import type { Permit, Release } from './fairQueue.ts'

/** Of one process, authenticated or not. */
const maxRequests = 8_192
const retryAfterSeconds = 2

/** Throws 429 if the team uses its whole share, 503 for another refusal. `noun`: in the plural. */
export function releaseOrThrow(permit: Permit, noun: string): Release {
  switch (permit.kind) {
    case 'granted':
      return permit.release
    case 'own-share':
      throw apiError('rate_limited', `the team has too many ${noun} in progress; retry when one has ended`, {
        headers: { 'Retry-After': String(retryAfterSeconds) },
        rejection: 'rate_limited',
      })
    case 'full':
    case 'aborted':
      throw unavailable('capacity', new Error(`too many ${noun} (${permit.kind})`))
  }
}

/** When the response is sent, or its client has disconnected. */
export function whenClosed(response: ServerResponse, listener: () => void): void {
  if (response.closed) listener()
  else response.once('close', listener)
}

export function limitRequestsInFlight(): ApiMiddleware {
  let inProgress = 0
  return (ctx, next) => {
    if (inProgress >= maxRequests) throw unavailable('capacity', new Error('too many requests'))
    inProgress++
    whenClosed(ctx.res, () => inProgress--)
    return next()
  }
}
