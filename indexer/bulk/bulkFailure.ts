import { errors } from '@elastic/elasticsearch'
import { refusalOf, summaryOf } from '../../src/core/process/log.ts'

/** A failure of a document or of a whole request that does not lie in one record, or not for certain. */
export type BulkFailure =
  /** The same request may succeed later. */
  | { readonly kind: 'retry'; readonly reason: string }
  /** Elasticsearch has too much to do: smaller and fewer requests succeed, later. */
  | { readonly kind: 'busy'; readonly reason: string }
  /** Somebody must act first (permissions, a missing index, a full disk); then the same request succeeds. */
  | { readonly kind: 'pause'; readonly reason: string }
  /** Too large: smaller requests succeed, or find the record that is too large alone. */
  | { readonly kind: 'split'; readonly reason: string }

/** The result of one document of a bulk request. */
export type ItemOutcome =
  | { readonly kind: 'written' }
  /** Elasticsearch holds a higher version, or (`isOutdated` is false) perhaps the same one. */
  | { readonly kind: 'stale'; readonly isOutdated: boolean }
  | BulkFailure
  /** Neither load nor an outage that anybody knows: the document may be at fault. */
  | { readonly kind: 'suspect'; readonly reason: string }
  /** This document can never be stored: its record becomes a dead letter. */
  | { readonly kind: 'reject'; readonly reason: string }

/** Why a whole bulk request has no results by document. */
export type RequestFailure =
  | BulkFailure
  /** Status 400. Either one record is at fault, which smaller requests find, or anything between us and Elasticsearch. */
  | { readonly kind: 'bad-request'; readonly reason: string }
  /** A bug of ours. */
  | { readonly kind: 'fatal'; readonly reason: string }

/** The error of one document in a bulk response. Its `reason` may quote the document: it is classified, and never logged. */
export type ItemError = { readonly type?: string; readonly reason?: string; readonly caused_by?: { type?: string } }

const written: ItemOutcome = { kind: 'written' }

/** Classifies one item of a bulk response by its status, as Elasticsearch documents them for the bulk API. */
export function classifyItem(status: number, error: ItemError | undefined): ItemOutcome {
  if (status === 200 || status === 201) return written
  const reason = refusalOf(status, error)
  if (status === 409 && error?.type === 'version_conflict_engine_exception')
    return { kind: 'stale', isOutdated: isOutdatedBy(error.reason) }
  if (status === 400) return { kind: badDocumentKinds.get(error?.type) ?? 'reject', reason }
  if (status === 401 || status === 403 || status === 404) return { kind: 'pause', reason }
  // A full disk: fewer requests would not help.
  if (status === 429 && error?.type === 'cluster_block_exception') return { kind: 'pause', reason }
  if (status === 429 && isTooLarge(error?.reason)) return { kind: 'split', reason: tooLarge }
  if (status === 429) return { kind: 'busy', reason }
  return { kind: outageStatuses.has(status) ? 'retry' : 'suspect', reason }
}

/** Errors of status 400 that may lie in the index: an alias without a write index, the mappings of another release. */
const badDocumentKinds: ReadonlyMap<string | undefined, 'pause' | 'suspect'> = new Map([
  ['index_closed_exception', 'pause'],
  ['illegal_argument_exception', 'suspect'],
  ['strict_dynamic_mapping_exception', 'suspect'],
])

/** A shard or a node is away, or does not answer in time. */
const outageStatuses: ReadonlySet<number> = new Set([408, 502, 503, 504])

/** Whether a version conflict tells of a higher version than the written one. */
function isOutdatedBy(reason = ''): boolean {
  const [, current, provided] = /current version \[(\d+)\].*provided \[(\d+)\]/.exec(reason) ?? []
  return current !== undefined && provided !== undefined && Number(current) > Number(provided)
}

/** Classifies the error that a request to Elasticsearch threw. */
export function classifyRequestError(error: unknown): RequestFailure {
  if (error instanceof errors.ResponseError) {
    if (error.statusCode === 429 && isTooLarge(reasonOf(error))) return { kind: 'split', reason: tooLarge }
    return classifyStatus(error.statusCode ?? 0, summaryOf(error))
  }
  if (error instanceof errors.ConfigurationError || error instanceof errors.SerializationError)
    return { kind: 'fatal', reason: summaryOf(error) }
  if (error instanceof errors.TimeoutError) return { kind: 'busy', reason: summaryOf(error) }
  if (error instanceof errors.ElasticsearchClientError) return { kind: 'retry', reason: summaryOf(error) }
  return { kind: 'fatal', reason: summaryOf(error) }
}

function classifyStatus(status: number, reason: string): RequestFailure {
  if (status === 413) return { kind: 'split', reason: tooLarge }
  if (status === 400) return { kind: 'bad-request', reason }
  if (status === 401 || status === 403 || status === 404) return { kind: 'pause', reason }
  return { kind: status === 429 ? 'busy' : 'retry', reason }
}

const tooLarge = 'is larger than Elasticsearch takes at once'

/** Elasticsearch answers 429 even to a request that exceeds its memory limit by itself; only the reason has the numbers. */
function isTooLarge(reason = ''): boolean {
  const [, bytes, max] = /_operation_bytes=(\d+), max_\w+_bytes=(\d+)\]/.exec(reason) ?? []
  return bytes !== undefined && max !== undefined && Number(bytes) > Number(max)
}

const reasonOf = ({ body }: errors.ResponseError): string =>
  String((body as { error?: { reason?: unknown } } | undefined)?.error?.reason)

/** Whether the document needs no further attempt: what is stored is it, or at least as new. */
export const isDone = ({ kind }: ItemOutcome): boolean => kind === 'written' || kind === 'stale'

/** Whether the same document, or the same request, may succeed later. */
export const isFailure = (
  found: ItemOutcome | RequestFailure,
): found is Exclude<BulkFailure, { readonly kind: 'split' }> =>
  found.kind === 'retry' || found.kind === 'busy' || found.kind === 'pause'

/** Whether the document is to be sent again. */
export const mayRetry = (outcome: ItemOutcome | undefined): boolean =>
  outcome !== undefined && (isFailure(outcome) || outcome.kind === 'suspect')
