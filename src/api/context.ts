import type { Readable } from 'node:stream'
import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { z } from 'zod'
import type { EntityType } from '../core/model/ids.ts'
import type { FoundKey } from '../core/redis/keyLookups.ts'
import type { KeyUse } from '../core/redis/keyUse.ts'
import type { Freshness } from '../core/redis/listVersions.ts'
import type { AnswerCache } from './answerCache.ts'
import type { IndexReader } from './search/indexReader.ts'
import type { QueryTurns } from './search/queryTurns.ts'
import type { VisibleLists } from './visibleLists.ts'

export type ApiState = {
  requestId: string
  /** Set by `authenticate`. */
  accountKey?: FoundKey
  /** How long `Prefer: wait` has delayed the request; undefined without it. */
  waitedMs?: () => number
  /** When the first part of a streamed answer was ready (`performance.now`). */
  firstPartMs?: number
}

/** The state of an authenticated request. */
export type RouteState = ApiState & {
  accountKey: FoundKey
  /** List versions, watermark, and the indices of which these are true; read with the key, before any search. */
  freshness: Freshness
  /** Admits the request's queries, and its answers to memory, within the bounds of its team. */
  turns: QueryTurns
}

export type ApiContext = RouterContext<ApiState, object>
export type ApiMiddleware = RouterMiddleware<ApiState, object>
export type RouteContext = RouterContext<RouteState, object>
export type RouteMiddleware = RouterMiddleware<RouteState, object>

/** Throws `bad_request` if the query breaks the schema. Unknown parameters are named in `Ignored-Parameters`. */
export type ParameterReader = <Schema extends z.ZodObject>(ctx: RouteContext, schema: Schema) => z.output<Schema>

export type ExportParts = AsyncGenerator<Buffer, void, undefined>

/** Makes a body of the parts, once `queue` admits the request. Resolves when the first part is ready. */
export type StartStream = (queue: 'exports' | 'large pages', ctx: RouteContext, parts: ExportParts) => Promise<Readable>

/** Calls `onRefused` once the request's key is no longer accepted. The returned function stops watching. */
export type WatchKey = (ctx: RouteContext, onRefused: () => void) => () => void

/**
 * Delays a request with `Prefer: wait=N` until `hasRows` resolves to true or `N` seconds are over, and updates `freshness`. Without this preference,
 * or if too many requests wait, returns without calling `hasRows`.
 */
export type WaitForChange = (ctx: RouteContext, type: EntityType, hasRows: () => Promise<boolean>) => Promise<void>

export type RouteDeps = {
  readonly startStream: StartStream
  readonly indexReader: IndexReader
  readonly readParameters: ParameterReader
  readonly waitForChange: WaitForChange
  readonly answers: AnswerCache
  readonly visibleLists: VisibleLists
  readonly keyUse: Pick<KeyUse, 'noteFeed'>
  /** `BASE_URL`, else the path `/api/v1`. */
  readonly baseUrl: string
  readonly nowMs: () => number
}

export type Route = (ctx: RouteContext, deps: RouteDeps) => Promise<void>
