import { errors } from '@elastic/elasticsearch'
import { refusalOf, summaryOf } from '../../src/core/monitoring/log.ts'

type Failed<Kind extends string> = Kind extends string ? { readonly kind: Kind; readonly reason: string } : never

/**
 * A failure of a document or of a whole request, after which the same may succeed:
 * - `retry`: later;
 * - `away`: later, too: the shard has no primary, so that whatever is sent beside the document waits for it;
 * - `busy`: later, when requests are smaller and fewer: Elasticsearch is overloaded;
 * - `pause`: once somebody has acted (permissions, a missing index, a full disk).
 */
export type BulkFailure = Failed<'retry' | 'away' | 'busy' | 'pause'>

/**
 * The result of one document of a bulk request.
 * - `stale`: Elasticsearch holds the same or a higher version.
 * - `split`: too large. Smaller requests succeed, or find the record that is too large alone.
 * - `suspect`: neither overload nor a known outage: the document may be at fault.
 * - `reject`: the document can never be stored: its record becomes a dead letter.
 */
export type ItemOutcome = { readonly kind: 'written' | 'stale' } | BulkFailure | Failed<'split' | 'suspect' | 'reject'>

/**
 * Why a whole bulk request has no results by document. `bad-request` (status 400): either one record is at fault, which smaller requests
 * find, or anything between us and Elasticsearch.
 */
export type RequestFailure = BulkFailure | Failed<'split' | 'bad-request'>

/** The error of one document in a bulk response. Its `reason` may quote the document: it is classified, and never logged. */
export type ItemError = { readonly type?: string; readonly reason?: string; readonly caused_by?: { type?: string } }

/** The items of a bulk response do not correspond to the documents of its request. */
export class MalformedBulkResponse extends Error {
  constructor(what: string) {
    super(`bulk response does not match its request: ${what}`)
    this.name = 'MalformedBulkResponse'
  }
}

const written: ItemOutcome = { kind: 'written' }
const stale: ItemOutcome = { kind: 'stale' }
const tooLarge = { kind: 'split', reason: 'is larger than Elasticsearch takes at once' } as const

/** Classifies one item of a bulk response by its status, as Elasticsearch documents them for the bulk API. */
export function classifyItem(status: number, error: ItemError | undefined): ItemOutcome {
  if (status === 200 || status === 201) return written
  const reason = refusalOf(status, error)
  if (status === 409 && error?.type === 'version_conflict_engine_exception') return stale
  if (status === 400) return { kind: badDocumentKinds.get(error?.type) ?? 'reject', reason }
  if (pauseStatuses.has(status)) return { kind: 'pause', reason }
  // A full disk: fewer requests would not help.
  if (status === 429 && error?.type === 'cluster_block_exception') return { kind: 'pause', reason }
  if (status === 429) return isTooLarge(error?.reason) ? tooLarge : { kind: 'busy', reason }
  if (status === 503 && error?.type === 'unavailable_shards_exception') return { kind: 'away', reason }
  return { kind: outageStatuses.has(status) ? 'retry' : 'suspect', reason }
}

/** Errors of status 400 that may lie in the index: an alias without a write index, the mappings of another release. */
const badDocumentKinds: ReadonlyMap<string | undefined, 'pause' | 'suspect'> = new Map([
  ['index_closed_exception', 'pause'],
  ['illegal_argument_exception', 'suspect'],
  ['strict_dynamic_mapping_exception', 'suspect'],
])

const pauseStatuses: ReadonlySet<number> = new Set([401, 403, 404])

/** A shard or a node is away, or does not answer in time. */
const outageStatuses: ReadonlySet<number> = new Set([408, 502, 503, 504])

/** The outcomes of a rebuild's request. Throws when its write alias is gone: no other one will give it back. */
export function expectOwnIndices(outcomes: ItemOutcome[]): ItemOutcome[] {
  if (outcomes.some((each) => each.kind === 'pause' && each.reason.startsWith('404 index_not_found')))
    throw new Error(
      'the indices that this rebuild writes were deleted, or taken over by another one: run the rebuild again',
    )
  return outcomes
}

/** Classifies the error that a request to Elasticsearch threw; undefined for a bug of ours. */
export function classifyRequestError(error: unknown): RequestFailure | undefined {
  const reason = summaryOf(error)
  if (error instanceof MalformedBulkResponse) return { kind: 'retry', reason }
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

/** Elasticsearch answers 429 even to what exceeds its memory limits by itself; only the reason has the numbers. */
function isTooLarge(reason = ''): boolean {
  if (/^Request contains an operation of size \[\d+\] bytes, which exceeds/.test(reason)) return true
  const [, place, bytes, max] = /(\w+)_operation_bytes=(\d+), max_\w+_bytes=(\d+)\]/.exec(reason) ?? []
  // A primary reserves four times the largest document beside the document itself, and names only the former.
  return Number(bytes) * (place === 'primary' ? 5 / 4 : 1) > Number(max)
}
