import { errors } from '@elastic/elasticsearch'
import { refusalOf, summaryOf } from '../../src/core/monitoring/log.ts'

type FailureOf<Kind extends string> = Kind extends string ? { readonly kind: Kind; readonly reason: string } : never

/**
 * A failure that may pass:
 * - `retry`: by itself;
 * - `away`: once the shard has a primary again;
 * - `busy`: after smaller and fewer requests;
 * - `pause`: after an operator has acted (permissions, a missing index, a full disk).
 */
export type BulkFailure = FailureOf<'retry' | 'away' | 'busy' | 'pause'>

/**
 * The result of one document.
 * - `stale`: the same or a higher version is stored.
 * - `split`: too large. Smaller requests succeed, or show which record alone is too large.
 * - `suspect`: neither overload nor a known outage. The document may be at fault.
 * - `reject`: Elasticsearch never accepts the document. Its record becomes a dead letter.
 */
export type ItemOutcome =
  | { readonly kind: 'written' | 'stale' }
  | BulkFailure
  | FailureOf<'split' | 'suspect' | 'reject'>

/** `bad-request` (status 400): smaller requests show which record Elasticsearch refuses; or a proxy refuses every request. */
export type RequestFailure = BulkFailure | FailureOf<'split' | 'bad-request'>

export const notSent: ItemOutcome = { kind: 'retry', reason: 'was not sent' }

export const isDone = (outcome: ItemOutcome | undefined): boolean =>
  outcome?.kind === 'written' || outcome?.kind === 'stale'

export const isFailure = (outcome: ItemOutcome | RequestFailure): outcome is BulkFailure =>
  outcome.kind === 'retry' || outcome.kind === 'away' || outcome.kind === 'busy' || outcome.kind === 'pause'

/** `reason` may quote the document, so it is never logged. */
export type ItemError = { readonly type?: string; readonly reason?: string; readonly caused_by?: { type?: string } }

/** A response that lacks a document of its request, or has another one. */
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
  // An index is blocked for writes, as when a disk is full: smaller requests would not help.
  if (status === 429 && error?.type === 'cluster_block_exception') return { kind: 'pause', reason }
  if (status === 429) return isTooLarge(error?.reason) ? tooLarge : { kind: 'busy', reason }
  if (status === 503 && error?.type === 'unavailable_shards_exception') return { kind: 'away', reason }
  return { kind: outageStatuses.has(status) ? 'retry' : 'suspect', reason }
}

/** The cause may be the index: it is closed, its alias has no write index, or its mappings are of another release. */
const indexErrorKinds: ReadonlyMap<string | undefined, 'pause' | 'suspect'> = new Map([
  ['index_closed_exception', 'pause'],
  ['illegal_argument_exception', 'suspect'],
  ['strict_dynamic_mapping_exception', 'suspect'],
])

/** Unauthorized, forbidden, no such index. */
const pauseStatuses: ReadonlySet<number> = new Set([401, 403, 404])

/** These show nothing about the document. */
const outageStatuses: ReadonlySet<number> = new Set([408, 502, 503, 504])

/** Throws if the write alias of this rebuild is gone: retries would never end. */
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
  const bodyReason = (body as { error?: { reason?: unknown } } | undefined)?.error?.reason
  if (status === 413 || (status === 429 && isTooLarge(String(bodyReason)))) return tooLarge
  if (status === 400) return { kind: 'bad-request', reason }
  if (pauseStatuses.has(status)) return { kind: 'pause', reason }
  return { kind: status === 429 ? 'busy' : 'retry', reason }
}

/**
 * Whether a request is too large even without other load. Elasticsearch answers 429 as for overload; only the reason shows the sizes:
 * - `Request contains an operation of size [60000000] bytes, which exceeds …`
 * - `rejected execution of … [coordinating_operation_bytes=60000000, max_coordinating_bytes=53687091]`
 */
function isTooLarge(reason = ''): boolean {
  if (/^Request contains an operation of size \[\d+\] bytes, which exceeds/.test(reason)) return true
  const [, stage, rejectedBytes, maxBytes] = /(\w+)_operation_bytes=(\d+), max_\w+_bytes=(\d+)\]/.exec(reason) ?? []
  // For a document of size s, a primary reserves s, then 4s for indexing. If it rejects the second reservation, the reason has 4s, but 5s are needed: 5/4 of
  // it. If it rejects the first, the reason has s; while 5/4 s is within the bound, the document counts as `busy` until its second reservation is rejected.
  const neededBytes = Number(rejectedBytes) * (stage === 'primary' ? 5 / 4 : 1)
  return neededBytes > Number(maxBytes)
}
