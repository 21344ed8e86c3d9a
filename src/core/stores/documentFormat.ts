import type { EntityId } from '../model/ids.ts'
import type { Instant } from '../model/instant.ts'

/** Surrounds the summary in a list document, and occurs nowhere else in it, so that readers need not parse it. White space of JSON. */
export const summaryDelimiter = '\t'

/** The summary and the detail of an entity, of which one or both may be large. */
export type EntityPart = 'summary' | 'detail'

/** A larger part is told by its list document, with its team and its bytes, so that readers know what they ask for before they ask. */
export const largeBytes = 16 * 1024

/**
 * Text that sorts as created time, then id. With a numeric field in the index sort Elasticsearch does not terminate early, and page 1 of a
 * large team costs five times as much.
 */
export const position = (createdAt: Instant, id: string): string => `${createdAt}|${id}`

/** The id in a `position`. Neither an instant nor an id contains a `|`. */
export const idInPosition = (text: string): EntityId => text.slice(text.indexOf('|') + 1) as EntityId

/** How the source of a tombstone begins. */
export const tombstoneStart = '{"tombstone":'

/** Whether a document's source is a tombstone. */
export const isTombstone = (source: Buffer): boolean =>
  source.toString('latin1', 0, tombstoneStart.length) === tombstoneStart
