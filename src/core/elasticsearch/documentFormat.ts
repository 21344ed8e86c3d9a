import type { EntityId } from '../model/ids.ts'
import type { Instant } from '../model/instant.ts'

/** JSON white space around the summary, and nowhere else in a list document: readers cut the summary out without parsing. */
export const summaryDelimiter = '\t'

/** The parts of an entity, each of which may be large. */
export type EntityPart = 'summary' | 'detail'

/** The list document contains the sizes of parts above this: a reader knows how many bytes it is about to fetch. */
export const largeBytes = 16 * 1024

/**
 * The sort key of lists: creation time, then id, as text. With a numeric field in its index sort, Elasticsearch would not stop a search early, and
 * page 1 of a large team would take five times as long.
 */
export const position = (createdAt: Instant, id: string): string => `${createdAt}|${id}`

/** The id in a `position` (an instant contains no `|`). */
export const idInPosition = (text: string): EntityId => text.slice(text.indexOf('|') + 1) as EntityId

/** The beginning of a tombstone's source. */
export const tombstoneStart = '{"tombstone":'

/** Whether a document's source is a tombstone. */
export const isTombstone = (source: Buffer): boolean =>
  source.toString('latin1', 0, tombstoneStart.length) === tombstoneStart
