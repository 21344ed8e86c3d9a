import type { EntityId } from '../model/ids.ts'
import type { Instant } from '../model/instant.ts'

/*
 * Each form or submission has two documents: a list document (search keys, and the summary that lists serve), and a detail document (the answer to a request
 * by id).
 */

/** White space around the summary and nowhere else in a list document, so that readers find the summary without parsing. */
export const summaryDelimiter = '\t'

export type EntityPart = 'summary' | 'detail'

/** If a summary or detail is larger, the list document has its size, so that a reader can sum up the bytes before it requests them. */
export const largeBytes = 16 * 1024

/**
 * The sort key of lists: creation time, then id, as one text. It has nothing to do with a position in Kafka. With a numeric time in a field of its own,
 * Elasticsearch would not stop a search after the first rows of the sorted index. Page 1 of a large team would take five times as long.
 */
export const position = (createdAt: Instant, id: string): string => `${createdAt}|${id}`

/** The id in a sort key; an instant contains no `|`. */
export const idInPosition = (text: string): EntityId => text.slice(text.indexOf('|') + 1) as EntityId

/** The document of a deleted entity, a tombstone, begins so. */
export const tombstoneStart = '{"tombstone":'

export const isTombstone = (source: Buffer): boolean =>
  source.toString('latin1', 0, tombstoneStart.length) === tombstoneStart
