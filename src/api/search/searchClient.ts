import { type Client, errors } from '@elastic/elasticsearch'
import type { List } from '../../core/model/ids.ts'
import { aliasOf, type DocumentKind } from '../../core/stores/indices.ts'

/** One request to Elasticsearch; every part of `path` is already percent-encoded. */
export type SearchRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly querystring: Readonly<Record<string, string | boolean>>
  readonly body?: Readonly<Record<string, unknown>>
  /** The list, and the alias of its index, whose shard is asked: on its primary (`readPrimaries.ts`). Undefined for any other request. */
  readonly shard?: List & { readonly alias: string }
}

export type SearchClient = {
  readonly indexPrefix: string
  /**
   * Resolves to a response of status 200, its body as raw JSON, or 404. Rejects with an error other than `ElasticsearchUnavailable` only if the
   * request itself is at fault.
   */
  send(request: SearchRequest, signal: AbortSignal): Promise<{ readonly isFound: boolean; readonly bytes: Buffer }>
}

/** A list of a team, and who searches it. */
export type SearchedList = SearchClient & List

/** Runs one query in the team's turn, again if Elasticsearch is overloaded, until its deadline. `bytes`: the most that the query returns. */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>, bytes?: number) => Promise<Answer>

type UnavailableReason =
  | 'unreachable' // no connection
  | 'deadline' // no response in time
  | 'partial' // an incomplete response
  | 'missing-index' // the alias points to no index
  | 'missing-snapshot' // the point in time has expired
  | 'overloaded' // too little memory or too many requests
  | 'no-copy' // the named node has no copy of the shard
  | 'refused' // Elasticsearch rejected the request (permissions)

/**
 * Elasticsearch cannot answer now: whatever asks it rejects with this. The message repeats no part of the request, because requests hold
 * what users typed.
 */
export class ElasticsearchUnavailable extends Error {
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, detail: string) {
    super(`Elasticsearch is unavailable (${reason}): ${detail}`)
    this.name = 'ElasticsearchUnavailable'
    this.reason = reason
  }
}

/** Elasticsearch does not understand a search: a bug, unless the search is meant to find out what Elasticsearch knows. */
export class InvalidSearch extends Error {
  /** The error type of the innermost cause. */
  readonly type: string

  constructor(detail: string, type: string) {
    super(`Elasticsearch does not understand the request: ${detail}`)
    this.name = 'InvalidSearch'
    this.type = type
  }
}

/** Asks the index that serves a kind of documents, on the shard of the team. */
export async function askShard(
  { indexPrefix, send, type, teamId }: SearchedList,
  kind: DocumentKind,
  request: { readonly api: string } & Pick<SearchRequest, 'querystring' | 'body'>,
  signal: AbortSignal,
): Promise<Buffer> {
  const { api, querystring, ...others } = request
  const shard = { type, teamId, alias: aliasOf(indexPrefix, kind) }
  const path = `/${shard.alias}/${api}`
  const { isFound, bytes } = await send(
    { method: 'POST', path, querystring: { routing: teamId, ...querystring }, shard, ...others },
    signal,
  )
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  return bytes
}

/** Shorter than the deadline of a query: only a request that times out, not one that is aborted, makes the client avoid its node. */
const requestTimeoutMs = 4_000

/** Sends requests through a client that returns raw bytes. */
export const openSearchClient = (client: Client, indexPrefix: string): SearchClient => ({
  indexPrefix,
  send: async ({ shard: _known, ...request }, signal) => {
    const { statusCode, body } = await client.transport
      .request<Uint8Array | object>(request, { signal, ignore: [404], requestTimeout: requestTimeoutMs, meta: true })
      .catch((error: unknown) => {
        throw classifyClientError(error)
      })
    const isFound = statusCode !== 404 && body instanceof Uint8Array
    return { isFound, bytes: isFound ? Buffer.from(body.buffer, body.byteOffset, body.byteLength) : Buffer.alloc(0) }
  },
})

function classifyClientError(error: unknown): unknown {
  if (error instanceof errors.ResponseError) {
    // The reason, which may repeat the request, is not told.
    const { type, reason } = causeIn(error.body)
    const [status, detail] = [error.statusCode, `${error.statusCode} ${type}`]
    if (reason.startsWith('no data nodes with ')) return new ElasticsearchUnavailable('no-copy', type)
    if (status === 429 || overloads.has(type)) return new ElasticsearchUnavailable('overloaded', detail)
    return status === 400 && !faultless.has(type)
      ? new InvalidSearch(detail, type)
      : new ElasticsearchUnavailable('refused', detail)
  }
  if (error instanceof errors.RequestAbortedError || error instanceof errors.TimeoutError)
    return new ElasticsearchUnavailable('deadline', error.name)
  return error instanceof errors.ElasticsearchClientError
    ? new ElasticsearchUnavailable('unreachable', error.message)
    : error
}

/** Errors of status 400 that are no fault of the request: a closed index; a cancelled search, for which Elasticsearch may name no cause. */
const faultless = new Set(['index_closed_exception', 'task_cancelled_exception', 'search_phase_execution_exception'])

/** Error types of too little memory, or too many requests, whatever the status. */
export const overloads = new Set(['circuit_breaking_exception', 'es_rejected_execution_exception'])

type Cause = {
  readonly type?: unknown
  readonly reason?: unknown
  readonly caused_by?: Cause
  readonly root_cause?: readonly Cause[]
}

/** The innermost cause of an error response. */
function causeIn(body: unknown): { readonly type: string; readonly reason: string } {
  const innermost = (cause: Cause): Cause => {
    const inner = cause.caused_by ?? cause.root_cause?.[0]
    return inner ? innermost(inner) : cause
  }
  const { error } = (body ?? {}) as { readonly error?: Cause }
  const { type = 'without a reason', reason = '' } = innermost(error ?? {})
  return { type: String(type), reason: String(reason) }
}
