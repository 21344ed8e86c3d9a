import type { estypes } from '@elastic/elasticsearch'
import type { TeamId } from '../../core/model/ids.ts'
import type { WindowBound } from '../../core/model/instant.ts'

export type Clause = estypes.QueryDslQueryContainer

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

/** Makes a search return its exact total and no hits. */
export const countOnly = { size: 0, track_total_hits: true }

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

/** The clause for one exact value; none if no value is given. */
export const termClauses = (field: 'scene' | 'formId' | 'status', value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]
