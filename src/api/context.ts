import type { Readable } from 'node:stream'
import type { RouterContext, RouterMiddleware } from '@koa/router'
import type { z } from 'zod'
import type { EntityType } from '../core/model/ids.ts'
import type { KeyHolder } from '../core/redis/keyLookups.ts'
import type { Freshness } from '../core/redis/listVersions.ts'
import type { AnswerCache } from './answerCache.ts'
import type { IndexReader } from './search/indexReader.ts'
import type { RunQuery } from './search/searchClient.ts'
import type { VisibleLists } from './visibleLists.ts'

/** The state of every request; `holder` is set once its key is accepted. */
export type ApiState = {
  requestId: string
  holder?: KeyHolder
  /** How long the request was held because it prefers to wait; undefined when it does not. */
  waitedMs?: () => number
  /** When the first part of an answer in parts was there (`performance.now`). */
  firstPartMs?: number
}

/** The state of an authenticated request. */
export type RouteState = ApiState & {
  holder: KeyHolder
  freshness: Freshness
  runQuery: RunQuery
  /** Like `runQuery`, for answers in parts: waits longer for the team's turn. */
  runPart: RunQuery
  /**
   * Waits until the request may hold `bytes` in a whole answer, including the bytes that it holds already. It holds them until its response is
   * closed, or until the returned function is called.
   */
  holdAnswer: (bytes: number) => Promise<() => void>
}

export type ApiContext = RouterContext<ApiState, object>
export type ApiMiddleware = RouterMiddleware<ApiState, object>
export type RouteContext = RouterContext<RouteState, object>
export type RouteMiddleware = RouterMiddleware<RouteState, object>

/** Reads and validates a route's parameters. Throws `bad_request`. Unknown parameters are ignored, named in a header and counted. */
export type ParameterReader = <Schema extends z.ZodObject>(ctx: RouteContext, schema: Schema) => z.output<Schema>

export type ExportParts = AsyncGenerator<Buffer, void, undefined>

/** Starts to send something in parts. Resolves once the first one has arrived, so that an earlier failure is answered like any other. */
export type StartStream = (
  what: 'exports' | 'large pages',
  ctx: RouteContext,
  open: (runQuery: RunQuery) => ExportParts,
) => Promise<Readable>

/** Calls `onRefused` once the key of a request is no longer accepted; the returned function ends that. */
export type WatchKey = (ctx: RouteContext, onRefused: () => void) => () => void

/** Holds a request that prefers to wait (`Prefer: wait=N`) until `hasRows` finds rows for it, and updates the freshness in the state. */
export type WaitForChange = (ctx: RouteContext, type: EntityType, hasRows: () => Promise<boolean>) => Promise<void>

export type RouteDeps = {
  readonly startStream: StartStream
  readonly indexReader: IndexReader
  readonly readParameters: ParameterReader
  readonly waitForChange: WaitForChange
  readonly answers: AnswerCache
  readonly visibleLists: VisibleLists
  /** The public URL of the API. */
  readonly baseUrl: string
  readonly nowMs: () => number
}

export type Route = (ctx: RouteContext, deps: RouteDeps) => Promise<void>
