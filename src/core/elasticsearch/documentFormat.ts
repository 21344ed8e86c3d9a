import type { EntityId } from '../model/ids.ts'
import type { Instant } from '../model/instant.ts'

/** Around the summary and nowhere else in a list document, so that readers find the summary without parsing. */
export const summaryDelimiter = '\t'

export type EntityPart = 'summary' | 'detail'

/** The list document has the size of a larger summary or detail, so that a reader can sum up the bytes before it requests them. */
export const largeBytes = 16 * 1024

/**
 * The sort key of lists: creation time, then id, as one text. With a numeric time in a field of its own, Elasticsearch would not stop after the first rows of
 * the sorted index: page 1 of a large team would take five times as long.
 */
export const position = (createdAt: Instant, id: string): string => `${createdAt}|${id}`

/** An instant contains no `|`. */
export const idInPosition = (text: string): EntityId => text.slice(text.indexOf('|') + 1) as EntityId

/** The document of a deleted entity begins so. */
export const tombstoneStart = '{"tombstone":'

export const isTombstone = (source: Buffer): boolean =>
  source.toString('latin1', 0, tombstoneStart.length) === tombstoneStart
