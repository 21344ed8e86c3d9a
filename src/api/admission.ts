import type { ApiMiddleware, RouteMiddleware } from './context.ts'
import { Places } from './permits.ts'
import { RequestError } from './requestError.ts'
import { whenClosed } from './whenClosed.ts'

/** Requests under way, whoever sent them: most of them have only just come. */
const maxUnderWay = 8_192
/** Of those with a good key, in all and of a team: each may hold an answer in memory that is not taken yet. */
const underWay = { total: 1_024, perTenant: 512 }

/** Ends a request that finds no room; nothing is wrong with it. */
export const overCapacity = (what: string): RequestError =>
  new RequestError({ kind: 'service_unavailable', lacks: 'capacity', cause: new Error(`no room: ${what}`) })

/** Turns requests away while too many are under way. */
export function admitRequests(): ApiMiddleware {
  const places = new Places({ total: maxUnderWay, perTenant: maxUnderWay })
  return (ctx, next) => {
    const place = places.enter('everybody')
    if (typeof place === 'string') throw overCapacity('too many requests are under way')
    whenClosed(ctx.res, place)
    return next()
  }
}

/** Turns requests of a team away while too many of it are under way, so that it leaves room for others. */
export function admitTeams(): RouteMiddleware {
  const places = new Places(underWay)
  return (ctx, next) => {
    const place = places.enter(ctx.state.holder.teamId)
    if (typeof place === 'string') throw overCapacity('too many requests of one team are under way')
    whenClosed(ctx.res, place)
    return next()
  }
}
