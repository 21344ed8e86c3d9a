import { type Client, errors } from '@elastic/elasticsearch'
import type { TeamId } from '../../core/model/ids.ts'
import { isObject } from '../../core/model/schema.ts'
import type { RawBody } from '../../core/stores/elasticsearch.ts'

/** One request to Elasticsearch; every part of `path` is already percent-encoded. */
export type SearchRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly querystring: Readonly<Record<string, string | boolean>>
  readonly body?: Readonly<Record<string, unknown>>
}

/** A response of status 200 or 404, its body as raw JSON. Every other status is an error. */
export type SearchResponse = { readonly isFound: boolean; readonly bytes: Buffer }

/** Routes a search to the shard of the team. Which copy of it answers is decided in `readPrimaries.ts`. */
export const teamShard = (teamId: TeamId): Readonly<Record<'routing', string>> => ({ routing: teamId })

/** Sends requests to Elasticsearch and gives their responses back as raw bytes. */
export type SearchClient = {
  readonly indexPrefix: string
  /** Rejects with `ElasticsearchUnavailable`; with another error only if the request itself is at fault. */
  send(request: SearchRequest, signal: AbortSignal): Promise<SearchResponse>
}

/**
 * Why Elasticsearch cannot answer now:
 * `unreachable` no connection; `deadline` no response in time; `partial` an incomplete response; `missing-index` the alias points
 * to no index; `missing-snapshot` the point in time has expired; `overloaded` it has too little memory or too many requests now; `no-copy`
 * the node that was named has no copy of the shard; `refused` Elasticsearch rejected the request (permissions).
 */
type UnavailableReason =
  | 'unreachable'
  | 'deadline'
  | 'partial'
  | 'missing-index'
  | 'missing-snapshot'
  | 'overloaded'
  | 'no-copy'
  | 'refused'

/** Elasticsearch cannot answer now. The message repeats no part of the request, because requests hold what users typed. */
export class ElasticsearchUnavailable extends Error {
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, detail: string) {
    super(`Elasticsearch is unavailable (${reason}): ${detail}`)
    this.name = 'ElasticsearchUnavailable'
    this.reason = reason
  }
}

/** How Elasticsearch refuses a request for a copy on a node that holds none. */
const noCopyReason = 'no data nodes with '

/** Elasticsearch does not understand a search. Unless the search itself finds out what it asked too much, this is a bug. */
export class InvalidSearch extends Error {
  /** The error type of the innermost cause. */
  readonly type: string

  constructor(detail: string, type: string) {
    super(`Elasticsearch does not understand the request: ${detail}`)
    this.name = 'InvalidSearch'
    this.type = type
  }
}

/** Shorter than the deadline of a query: only a request that times out, not one that is aborted, makes the client avoid its node. */
const requestTimeoutMs = 4_000

/** Sends requests through a client that returns raw bytes. */
export const openSearchClient = (client: Client, indexPrefix: string): SearchClient => ({
  indexPrefix,
  send: async (request, signal) => {
    const { statusCode, body } = await client.transport
      .request<RawBody>(
        { ...request },
        {
          signal,
          ignore: [404],
          requestTimeout: requestTimeoutMs,
          meta: true,
        },
      )
      .catch((error: unknown) => {
        throw classifyClientError(error)
      })
    return { isFound: statusCode !== 404, bytes: bufferOf(body) }
  },
})

const bufferOf = (body: RawBody): Buffer =>
  typeof body === 'string' ? Buffer.from(body) : Buffer.from(body.buffer, body.byteOffset, body.byteLength)

function classifyClientError(error: unknown): unknown {
  if (error instanceof errors.ResponseError) {
    const { type, reason } = causeIn(error.body)
    return reason.startsWith(noCopyReason)
      ? new ElasticsearchUnavailable('no-copy', type)
      : classifyErrorResponse(error.statusCode ?? 0, type)
  }
  if (error instanceof errors.RequestAbortedError || error instanceof errors.TimeoutError)
    return new ElasticsearchUnavailable('deadline', error.name)
  if (error instanceof errors.ElasticsearchClientError)
    return new ElasticsearchUnavailable('unreachable', error.message)
  return error
}

/**
 * Errors of status 400 that are no fault of the request: a closed index; a search that was cancelled, for which Elasticsearch may name no cause.
 */
const faultless = new Set(['index_closed_exception', 'task_cancelled_exception', 'search_phase_execution_exception'])

/** What Elasticsearch answers when it has too little memory, or too many requests; inside of others whatever their status. */
const overloads = new Set(['circuit_breaking_exception', 'es_rejected_execution_exception'])

/**
 * Classifies an error response by its status and error type; its reason text would repeat the request. A request that
 * Elasticsearch does not understand is a bug.
 */
export function classifyErrorResponse(status: number, type: string): Error {
  const detail = `${status} ${type}`
  if (status === 429 || overloads.has(type)) return new ElasticsearchUnavailable('overloaded', detail)
  return status === 400 && !faultless.has(type)
    ? new InvalidSearch(detail, type)
    : new ElasticsearchUnavailable('refused', detail)
}

type ErrorBody = Readonly<Record<string, unknown>>

function innermostCause(error: ErrorBody): ErrorBody {
  const cause = error['caused_by'] ?? firstOf(error['root_cause'])
  return isObject(cause) ? innermostCause(cause) : error
}

const firstOf = (causes: unknown): unknown => (Array.isArray(causes) ? causes[0] : undefined)

/** The innermost cause of an error response. Its reason may repeat the request. */
function causeIn(body: unknown): { readonly type: string; readonly reason: string } {
  const withoutCause = { type: 'without a reason', reason: '' }
  try {
    const response: unknown = typeof body === 'string' ? JSON.parse(body) : body
    const error = isObject(response) ? response['error'] : undefined
    if (!isObject(error)) return withoutCause
    const { type, reason } = innermostCause(error)
    return { type: String(type), reason: String(reason) }
  } catch {
    return withoutCause
  }
}

/**
 * Runs one query in the team's turn, again if Elasticsearch has too much to do; `signal` aborts it at its deadline. `bytes`: at most how many it
 * returns, a few unless told. Answers that may be large are counted until they are sent.
 */
export type RunQuery = <Answer>(send: (signal: AbortSignal) => Promise<Answer>, bytes?: number) => Promise<Answer>
