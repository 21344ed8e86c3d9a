import { errors } from '@elastic/elasticsearch'
import { refusalOf, summaryOf } from '../../src/core/monitoring/log.ts'

type FailureOf<Kind extends string> = Kind extends string ? { readonly kind: Kind; readonly reason: string } : never

/**
 * A failure of a document or of a whole request that may pass:
 * - `retry`: without any action;
 * - `away`: once the shard has a primary again. Until then, each request with its documents is delayed (`primaryWait` in bulkApi.ts);
 * - `busy`: with smaller and fewer requests. Elasticsearch is overloaded;
 * - `pause`: when an operator acts (permissions, a missing index, a full disk).
 */
export type BulkFailure = FailureOf<'retry' | 'away' | 'busy' | 'pause'>

/**
 * The result of one document of a bulk request.
 * - `stale`: the same or a higher version is stored.
 * - `split`: too large. Smaller requests succeed, or show which record alone is too large.
 * - `suspect`: neither overload nor a known outage. The document may be at fault.
 * - `reject`: Elasticsearch never accepts the document. Its record becomes a dead letter.
 */
export type ItemOutcome =
  | { readonly kind: 'written' | 'stale' }
  | BulkFailure
  | FailureOf<'split' | 'suspect' | 'reject'>

/** Why a whole bulk request failed. `bad-request` (status 400): Elasticsearch refuses a record, which smaller requests find; or a proxy refuses the request. */
export type RequestFailure = BulkFailure | FailureOf<'split' | 'bad-request'>

/** The error of one document in a bulk response. `reason` may quote the document: it only serves to classify the error, and is never logged. */
export type ItemError = { readonly type?: string; readonly reason?: string; readonly caused_by?: { type?: string } }

export class MalformedResponse extends Error {
  constructor(mismatch: string) {
    super(`Elasticsearch response does not match its request: ${mismatch}`)
    this.name = 'MalformedResponse'
  }
}

const written: ItemOutcome = { kind: 'written' }
const stale: ItemOutcome = { kind: 'stale' }
const tooLarge = { kind: 'split', reason: 'is larger than Elasticsearch takes at once' } as const

export function classifyItem(status: number, error: ItemError | undefined): ItemOutcome {
  if (status === 200 || status === 201) return written
  const reason = refusalOf(status, error)
  if (status === 409 && error?.type === 'version_conflict_engine_exception') return stale
  if (status === 400) return { kind: indexErrorKinds.get(error?.type) ?? 'reject', reason }
  if (pauseStatuses.has(status)) return { kind: 'pause', reason }
  // A full disk: fewer requests would not help.
  if (status === 429 && error?.type === 'cluster_block_exception') return { kind: 'pause', reason }
  if (status === 429) return isTooLarge(error?.reason) ? tooLarge : { kind: 'busy', reason }
  if (status === 503 && error?.type === 'unavailable_shards_exception') return { kind: 'away', reason }
  return { kind: outageStatuses.has(status) ? 'retry' : 'suspect', reason }
}

/** Errors of status 400 whose cause may be the index: it is closed, its alias has no write index, or its mappings are of another release. */
const indexErrorKinds: ReadonlyMap<string | undefined, 'pause' | 'suspect'> = new Map([
  ['index_closed_exception', 'pause'],
  ['illegal_argument_exception', 'suspect'],
  ['strict_dynamic_mapping_exception', 'suspect'],
])

const pauseStatuses: ReadonlySet<number> = new Set([401, 403, 404])

const outageStatuses: ReadonlySet<number> = new Set([408, 502, 503, 504])

/** Returns the outcomes. Throws if the write alias of this rebuild is gone: nobody would restore it. */
export function expectOwnIndices(outcomes: ItemOutcome[]): ItemOutcome[] {
  if (outcomes.some((outcome) => outcome.kind === 'pause' && outcome.reason.startsWith('404 index_not_found')))
    throw new Error(
      'the indices that this rebuild writes were deleted, or taken over by another one: run the rebuild again',
    )
  return outcomes
}

/** Undefined if the error is a bug of this program. */
export function classifyRequestError(error: unknown): RequestFailure | undefined {
  const reason = summaryOf(error)
  if (error instanceof MalformedResponse) return { kind: 'retry', reason }
  if (error instanceof errors.ResponseError) return classifyResponse(error, reason)
  if (error instanceof errors.ConfigurationError || error instanceof errors.SerializationError) return undefined
  if (error instanceof errors.TimeoutError) return { kind: 'busy', reason }
  return error instanceof errors.ElasticsearchClientError ? { kind: 'retry', reason } : undefined
}

function classifyResponse({ statusCode: status = 0, body }: errors.ResponseError, reason: string): RequestFailure {
  const quoted = (body as { error?: { reason?: unknown } } | undefined)?.error?.reason
  if (status === 413 || (status === 429 && isTooLarge(String(quoted)))) return tooLarge
  if (status === 400) return { kind: 'bad-request', reason }
  if (pauseStatuses.has(status)) return { kind: 'pause', reason }
  return { kind: status === 429 ? 'busy' : 'retry', reason }
}

/** Whether a request is too large even without other load. Elasticsearch answers 429 as for overload; only the reason has the sizes. */
function isTooLarge(reason = ''): boolean {
  if (/^Request contains an operation of size \[\d+\] bytes, which exceeds/.test(reason)) return true
  const [, stage, bytes, max] = /(\w+)_operation_bytes=(\d+), max_\w+_bytes=(\d+)\]/.exec(reason) ?? []
  // For a document of size s, a primary reserves s, then 4s for indexing. A rejection of the second reservation names 4s: 5/4 of that is needed. A primary on
  // another node may reject the first reservation, and then names s. If 5/4 s is within the bound, the document counts as `busy` until its second reservation
  // is rejected.
  return Number(bytes) * (stage === 'primary' ? 5 / 4 : 1) > Number(max)
}
