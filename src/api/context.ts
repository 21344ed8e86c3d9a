import type { Readable } from 'node:stream'
import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { z } from 'zod'
import type { EntityType } from '../core/model/ids.ts'
import type { KeyHolder } from '../core/redis/keyLookups.ts'
import type { KeyUse } from '../core/redis/keyUse.ts'
import type { Freshness } from '../core/redis/listVersions.ts'
import type { AnswerCache } from './answerCache.ts'
import type { IndexReader } from './search/indexReader.ts'
import type { RunQuery } from './search/searchClient.ts'
import type { VisibleLists } from './visibleLists.ts'

/** The state of every request; `holder` is set once its key is accepted. */
export type ApiState = {
  requestId: string
  holder?: KeyHolder
  /** How long the request has been held (`Prefer: wait`), in ms; undefined if it does not wait. */
  waitedMs?: () => number
  /** When the first part of a streamed answer was ready (`performance.now`). */
  firstPartMs?: number
}

/** The state of an authenticated request. */
export type RouteState = ApiState & {
  holder: KeyHolder
  freshness: Freshness
  runQuery: RunQuery
  /** Like `runQuery`, for streamed answers: with a longer wait for the team's turn, and a later deadline. */
  runPart: RunQuery
  /**
   * Reserves memory for a whole answer of `bytes` in the team's turn. A later call with more bytes reserves the difference. The memory is released when
   * the response is closed, or by the returned function.
   */
  holdAnswer: (bytes: number) => Promise<() => void>
}

export type ApiContext = RouterContext<ApiState, object>
export type ApiMiddleware = RouterMiddleware<ApiState, object>
export type RouteContext = RouterContext<RouteState, object>
export type RouteMiddleware = RouterMiddleware<RouteState, object>

/** Reads and validates parameters. Throws `bad_request`. Unknown parameters are ignored, counted, and named in `Ignored-Parameters`. */
export type ParameterReader = <Schema extends z.ZodObject>(ctx: RouteContext, schema: Schema) => z.output<Schema>

export type ExportParts = AsyncGenerator<Buffer, void, undefined>

/** Starts a streamed answer. Resolves once its first part is ready, so that a failure before that still gets an error status. */
export type StartStream = (
  what: 'exports' | 'large pages',
  ctx: RouteContext,
  open: (runQuery: RunQuery) => ExportParts,
) => Promise<Readable>

/** Calls `onRefused` once the key of a request is no longer accepted. The returned function stops watching. */
export type WatchKey = (ctx: RouteContext, onRefused: () => void) => () => void

/** Holds a request with `Prefer: wait=N` until `hasRows` finds rows or the time is over, and updates the freshness in the state. */
export type WaitForChange = (ctx: RouteContext, type: EntityType, hasRows: () => Promise<boolean>) => Promise<void>

export type RouteDeps = {
  readonly startStream: StartStream
  readonly indexReader: IndexReader
  readonly readParameters: ParameterReader
  readonly waitForChange: WaitForChange
  readonly answers: AnswerCache
  readonly visibleLists: VisibleLists
  readonly keyUse: Pick<KeyUse, 'noteFeed'>
  /** The public URL of the API. */
  readonly baseUrl: string
  readonly nowMs: () => number
}

export type Route = (ctx: RouteContext, deps: RouteDeps) => Promise<void>
