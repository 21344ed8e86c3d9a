import type { estypes } from '@elastic/elasticsearch'
import type { TeamId } from '../../core/model/ids.ts'
import { clampToInstants, toInstant, type WindowBound } from '../../core/model/instant.ts'
import type { EntityPart } from '../../core/stores/documentFormat.ts'

export type Clause = estypes.QueryDslQueryContainer

/** Filters in the order in which they apply: each one counts only if those before it find nothing. */
export type Filters = readonly [readonly Clause[], ...(readonly Clause[])[]]

/** The sort order of the indices: newest first by creation, then by id, descending. */
export const newestFirst = [{ teamId: 'asc' }, { position: 'desc' }] as const
export const oldestFirst = [{ teamId: 'asc' }, { position: 'asc' }] as const

/** Finds the documents of a team that match every clause. */
export const ofTeam = (teamId: TeamId, filter: readonly Clause[]): Clause => ({
  bool: { filter: [{ term: { teamId } }, ...filter] },
})

/** Finds the tombstones of a team's deleted entities that match every clause. */
export const deletedOfTeam = (teamId: TeamId, filter: readonly Clause[]): Clause => ({
  bool: { filter: [{ term: { 'tombstone.teamId': teamId } }, ...filter] },
})

/** Finds the entities of a team of which this part is large. */
export const largeOf = (teamId: TeamId, part: EntityPart): Clause => ({
  bool: { filter: [{ term: { [`large.${part}Of`]: teamId } }] },
})

/** The field that tells how many bytes a large part has. */
export const bytesOf = (part: EntityPart): string => `large.${part}Bytes`

/** Makes a search return its exact total and no hits. */
export const countOnly = { size: 0, track_total_hits: true }

/** Makes a search tell only whether there is any hit: Elasticsearch stops at the first one. */
export const anyAtAll = { ...countOnly, terminate_after: 1 }

/** Makes a search return the keys of rows, without reading stored documents: their sort values, and how large this part is. */
export const keysOnly = (part: EntityPart) => ({
  _source: false,
  stored_fields: '_none_',
  docvalue_fields: [{ field: bytesOf(part) }],
})

/** Clauses for a time window that includes both ends; none if both ends are open. */
export function windowClauses(
  field: 'createdAt' | 'changedAt' | 'tombstone.deletedAt',
  since: WindowBound | undefined,
  until: WindowBound | undefined,
): Clause[] {
  if (since === 'beyond-all' || until === 'beyond-all') return [{ match_none: {} }]
  if (since === undefined && until === undefined) return []
  const bounds = { ...(since !== undefined && { gte: since }), ...(until !== undefined && { lte: until }) }
  return [{ range: { [field]: bounds } }]
}

/** A span of time, both ends included. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

/** Matches rows created within a span. */
export const createdWithin = ({ fromMs, toMs }: TimeSpan): Clause => ({
  range: { createdAt: { gte: toInstant(clampToInstants(fromMs)), lte: toInstant(clampToInstants(toMs)) } },
})

/** The clause for one exact value; none if no value is given. */
export const termClauses = (field: 'scene' | 'formId' | 'status', value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]
