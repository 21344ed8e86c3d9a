import type { estypes } from '@elastic/elasticsearch'
import type { TeamId } from '../../core/model/ids.ts'
import { clampToInstants, toInstant, type WindowBound } from '../../core/model/instant.ts'
import type { EntityPart } from '../../core/stores/documentFormat.ts'

export type Clause = estypes.QueryDslQueryContainer

/** Selects what matches every clause. */
export type Filter = readonly Clause[]

/** Fallback filters: each one applies only if those before it find nothing. */
export type Filters = readonly [Filter, ...Filter[]]

/** The index sort: by creation time, then id, descending. */
export const newestFirst = [{ teamId: 'asc' }, { position: 'desc' }] as const
export const oldestFirst = [{ teamId: 'asc' }, { position: 'asc' }] as const

/** A query for the documents of a team that match every clause. */
export const ofTeam = (teamId: TeamId, filter: Filter): Clause => ({
  bool: { filter: [{ term: { teamId } }, ...filter] },
})

/** A query for the tombstones of a team that match every clause. */
export const deletedOfTeam = (teamId: TeamId, filter: Filter): Clause => ({
  bool: { filter: [{ term: { 'tombstone.teamId': teamId } }, ...filter] },
})

/** A query for the entities of a team whose `part` is large. */
export const largeOf = (teamId: TeamId, part: EntityPart): Clause => ({
  bool: { filter: [{ term: { [`large.${part}Of`]: teamId } }] },
})

export const bytesOf = (part: EntityPart): string => `large.${part}Bytes`

/** Search options: exact total, no hits. */
export const countOnly = { size: 0, track_total_hits: true }

/** Search options: whether there is any hit; Elasticsearch stops at the first. */
export const anyAtAll = { ...countOnly, terminate_after: 1 }

/** Search options: row keys only, that is sort values and the size of `part`, without reading stored documents. */
export const keysOnly = (part: EntityPart) => ({
  _source: false,
  stored_fields: '_none_',
  docvalue_fields: [{ field: bytesOf(part) }],
})

/** Clauses for a time window with inclusive bounds; none if both ends are open. */
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

/** A span of time (epoch ms, both ends inclusive). */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number }

export const createdWithin = ({ fromMs, toMs }: TimeSpan): Clause => ({
  range: { createdAt: { gte: toInstant(clampToInstants(fromMs)), lte: toInstant(clampToInstants(toMs)) } },
})

/** A term clause for an exact value; none for undefined. */
export const termClauses = (field: string, value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]

/** Clauses for scores between inclusive bounds; none if both ends are open. */
export function scoreClauses(min: number | undefined, max: number | undefined): Clause[] {
  if (min === undefined && max === undefined) return []
  // Elasticsearch sorts -0, which JavaScript would write as 0, below 0.
  const bounds = { ...(min !== undefined && { gte: min === 0 ? '-0.0' : min }), ...(max !== undefined && { lte: max }) }
  return [{ range: { [scoreField]: bounds } }]
}

export const scoreField = 'summary.result.score'
