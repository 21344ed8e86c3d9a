import { errors } from '@elastic/elasticsearch'
import { refusalOf, summaryOf } from '../../src/core/process/log.ts'

/** What became of one document of a bulk request. */
export type ItemOutcome =
  | { readonly kind: 'written' }
  /** A newer or the same version is there already. */
  | { readonly kind: 'stale' }
  /** The same request may succeed later. */
  | { readonly kind: 'retry'; readonly reason: string }
  /** Someone must act first (rights, a missing index, a full disk); then the same request succeeds. */
  | { readonly kind: 'pause'; readonly reason: string }
  /** Too large beside the others: alone it is stored, or can never be. */
  | { readonly kind: 'split'; readonly reason: string }
  /** This document can never be stored. */
  | { readonly kind: 'reject'; readonly reason: string }

/** Why a whole bulk request brought no item outcomes. */
export type RequestError =
  | { readonly kind: 'retry'; readonly reason: string }
  | { readonly kind: 'pause'; readonly reason: string }
  /** Too large: smaller requests pass, or find the record that never will. */
  | { readonly kind: 'split'; readonly reason: string }
  /** Not understood: because of one record, which smaller requests find, or of all that lies between us and Elasticsearch. */
  | { readonly kind: 'suspect'; readonly reason: string }
  /** A bug of ours. */
  | { readonly kind: 'fatal'; readonly reason: string }

/** Why a document of a bulk request was refused. Its `reason` may quote the document: it is judged, and never told. */
export type ItemError = { readonly type?: string; readonly reason?: string; readonly caused_by?: { type?: string } }

const written: ItemOutcome = { kind: 'written' }

/** Judges one bulk item by its own status, as Elasticsearch documents them for the bulk API. */
export function judgeItem(status: number, error: ItemError | undefined): ItemOutcome {
  if (status === 200 || status === 201) return written
  const reason = refusalOf(status, error)
  if (status === 409 && error?.type === 'version_conflict_engine_exception') return { kind: 'stale' }
  if (status === 400) return { kind: isAboutTheIndex(error?.type) ? 'pause' : 'reject', reason }
  if (status === 401 || status === 403 || status === 404) return { kind: 'pause', reason }
  if (status === 429 && isTooLarge(error?.reason)) return { kind: 'split', reason: tooLarge }
  return { kind: 'retry', reason }
}

/** A closed index, an alias without a write index or with routing of its own, a mapping that is not ours. */
const isAboutTheIndex = (errorType: string | undefined): boolean =>
  errorType === 'index_closed_exception' ||
  errorType === 'illegal_argument_exception' ||
  errorType === 'strict_dynamic_mapping_exception'

/** Judges what a request to Elasticsearch threw. */
export function judgeRequestError(error: unknown): RequestError {
  if (error instanceof errors.ResponseError) {
    if (error.statusCode === 429 && isTooLarge(reasonOf(error))) return { kind: 'split', reason: tooLarge }
    return judgeStatus(error.statusCode ?? 0, summaryOf(error))
  }
  if (error instanceof errors.ConfigurationError || error instanceof errors.SerializationError)
    return { kind: 'fatal', reason: summaryOf(error) }
  if (error instanceof errors.ElasticsearchClientError) return { kind: 'retry', reason: summaryOf(error) }
  return { kind: 'fatal', reason: summaryOf(error) }
}

function judgeStatus(status: number, reason: string): RequestError {
  if (status === 413) return { kind: 'split', reason: tooLarge }
  if (status === 400) return { kind: 'suspect', reason }
  if (status === 401 || status === 403 || status === 404) return { kind: 'pause', reason }
  return { kind: 'retry', reason }
}

const tooLarge = 'is larger than Elasticsearch takes at once'

/** Elasticsearch says "later" to what it would never have memory for; its reason tells the numbers. */
function isTooLarge(reason = ''): boolean {
  const [, bytes, max] = /_operation_bytes=(\d+), max_\w+_bytes=(\d+)\]/.exec(reason) ?? []
  return bytes !== undefined && max !== undefined && Number(bytes) > Number(max)
}

const reasonOf = ({ body }: errors.ResponseError): string =>
  String((body as { error?: { reason?: unknown } } | undefined)?.error?.reason)
