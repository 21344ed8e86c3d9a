import { type Client, errors } from '@elastic/elasticsearch'
import { asBytes, tooLongMessage } from '../../core/elasticsearch/elasticsearch.ts'
import { aliasOf, type DocumentKind, isList, type ListIndices } from '../../core/elasticsearch/indices.ts'
import type { List } from '../../core/model/ids.ts'

/** `path` is percent-encoded. */
export type SearchRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly querystring?: Readonly<Record<string, string | boolean>>
  readonly body?: Readonly<Record<string, unknown>>
  /** Of a request to one team's shard (`readPrimaries.ts`). `alias`: a read alias, or an index. */
  readonly shard?: List & { readonly alias: string }
  /** Above this, rejects with `AnswerTooLong`. */
  readonly maxBytes?: number
  /** Throws `ElasticsearchUnavailable` if an answer of status 200 contains a failure. */
  readonly check?: (bytes: Buffer) => void
}

export type SearchClient = {
  readonly indexPrefix: string
  /** As in `INDEX_ANSWERS`. */
  readonly hasAnswers: boolean
  /** Resolves for status 200 (`bytes`: raw JSON) and 404. Rejects with `ElasticsearchUnavailable`, `AnswerTooLong` or `InvalidSearch`. */
  send(request: SearchRequest, signal: AbortSignal): Promise<{ readonly isFound: boolean; readonly bytes: Buffer }>
}

export type SearchedList = SearchClient &
  List & {
    /** Read in one step with list version and watermark, which are true of these indices. Undefined: the read aliases are searched. */
    readonly indices: ListIndices | undefined
  }

type UnavailableReason =
  | 'unreachable'
  | 'deadline'
  | 'partial'
  | 'missing-index' // the index was removed, or the alias points to none
  | 'older-mapping' // searches by newer fields would find nothing
  | 'missing-snapshot'
  | 'overloaded' // too little memory or too many requests
  | 'no-copy' // no node, or not the named node, has a copy of the shard
  | 'refused' // another error, such as missing permissions

/** The message contains nothing of the request, which may contain personal data. */
export class ElasticsearchUnavailable extends Error {
  readonly reason: UnavailableReason

  constructor(reason: UnavailableReason, detail: string) {
    super(`Elasticsearch is unavailable (${reason}): ${detail}`)
    this.name = 'ElasticsearchUnavailable'
    this.reason = reason
  }
}

/** A bug, except where only Elasticsearch can validate a parameter, such as a time zone. */
export class InvalidSearch extends Error {
  readonly type: string

  constructor(detail: string, type: string) {
    super(`Elasticsearch does not understand the request: ${detail}`)
    this.name = 'InvalidSearch'
    this.type = type
  }
}

export class AnswerTooLong extends Error {
  override readonly name = 'AnswerTooLong'
}

/** Sends a request to the team's shard of the list or detail index (`kind`). */
export async function requestShard(
  { indexPrefix, send, type, teamId, indices }: SearchedList,
  kind: DocumentKind,
  request: { readonly api: string } & Pick<SearchRequest, 'querystring' | 'body' | 'check' | 'maxBytes'>,
  signal: AbortSignal,
): Promise<Buffer> {
  const { api, querystring, ...others } = request
  const named = isList(kind) ? indices?.index : indices?.details
  const shard = { type, teamId, alias: named ?? aliasOf(indexPrefix, kind) }
  const routed = { path: `/${shard.alias}/${api}`, querystring: { routing: teamId, ...querystring }, shard }
  const { isFound, bytes } = await send({ method: 'POST', ...routed, ...others }, signal)
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  return bytes
}

/** Shorter than a query's deadline (5 s), which aborts: Elasticsearch's client avoids a node that hangs after a timeout, but not after an abort. */
const requestTimeoutMs = 4_000

export const openSearchClient = (client: Client, indexPrefix: string, hasAnswers: boolean): SearchClient => ({
  indexPrefix,
  hasAnswers,
  // `_shard`: no option of Elasticsearch's client.
  send: async ({ shard: _shard, check, maxBytes, ...request }, signal) => {
    const { statusCode, body } = await client.transport
      .request<Uint8Array | object>(request, {
        signal,
        ignore: [404],
        requestTimeout: requestTimeoutMs,
        meta: true,
        ...(maxBytes !== undefined && { maxResponseSize: maxBytes }),
        ...asBytes(client),
      })
      .catch((error: unknown) => {
        throw classifyClientError(error)
      })
    if (statusCode === 404 || !(body instanceof Uint8Array)) return { isFound: false, bytes: Buffer.alloc(0) }
    const bytes = Buffer.from(body.buffer, body.byteOffset, body.byteLength)
    check?.(bytes)
    return { isFound: true, bytes }
  },
})

function classifyClientError(error: unknown): unknown {
  if (error instanceof errors.ResponseError) {
    // The reason may quote the request.
    const { type, reason } = innermost((error.body as { readonly error?: Cause } | null)?.error ?? {})
    const status = error.statusCode
    const detail = `${status} ${type}`
    if (reason.startsWith(noCopyReason)) return new ElasticsearchUnavailable('no-copy', type)
    if (status === 429 || overloads.has(type)) return new ElasticsearchUnavailable('overloaded', detail)
    const isInvalid = status === 400 && !validRequestErrors.has(type)
    return isInvalid ? new InvalidSearch(detail, type) : new ElasticsearchUnavailable('refused', detail)
  }
  if (error instanceof errors.RequestAbortedError && error.message.startsWith(tooLongMessage))
    return new AnswerTooLong(error.message)
  if (error instanceof errors.RequestAbortedError || error instanceof errors.TimeoutError)
    return new ElasticsearchUnavailable('deadline', error.name)
  return error instanceof errors.ElasticsearchClientError
    ? new ElasticsearchUnavailable('unreachable', error.message)
    : error
}

/** With these errors, Elasticsearch answers 400 to a valid request. */
const validRequestErrors = new Set([
  'index_closed_exception',
  'task_cancelled_exception',
  'search_phase_execution_exception',
])

/** An error's reason begins so if the node in `preference` has no copy. */
export const noCopyReason = 'no data nodes with '

/** With any status. */
export const overloads = new Set(['circuit_breaking_exception', 'es_rejected_execution_exception'])

type Cause = {
  readonly type?: unknown
  readonly reason?: unknown
  readonly caused_by?: Cause
  readonly root_cause?: readonly Cause[]
}

/** The last cause names the reason. */
function innermost(cause: Cause): Readonly<Record<'type' | 'reason', string>> {
  const innerCause = cause.caused_by ?? cause.root_cause?.[0]
  if (innerCause) return innermost(innerCause)
  return { type: String(cause.type ?? 'without a reason'), reason: String(cause.reason ?? '') }
}
