import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { RateLimiterRes } from 'rate-limiter-flexible'
import type { KeyHolder } from '../core/stores/accountKeyStore.ts'
import type { Freshness } from '../core/stores/listVersions.ts'
import type { Within } from './search/exportList.ts'

/** What is known of every request. `holder` is known once the key was accepted. */
export type ApiState = { requestId: string; holder?: KeyHolder }

/** A request in its key's minute. */
export type Counted = { readonly isRefused: boolean; readonly minute: RateLimiterRes }

/** What Redis is asked about the holder of a key. */
export type KeyHolderState = {
  /** How fresh the team's answers are. */
  readonly freshness: Promise<Freshness>
  /** The request, counted in the key's minute. */
  readonly counted: Promise<Counted>
}

/** What is known of a request that reaches a route. */
export type RouteState = ApiState & KeyHolderState & { holder: KeyHolder; runQuery: Within }

export type ApiContext = RouterContext<ApiState, object>
export type ApiMiddleware = RouterMiddleware<ApiState, object>
export type RouteContext = RouterContext<RouteState, object>
export type RouteMiddleware = RouterMiddleware<RouteState, object>
