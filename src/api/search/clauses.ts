import type { estypes } from '@elastic/elasticsearch'
import type { TeamId } from '../../core/model/ids.ts'

export type Clause = estypes.QueryDslQueryContainer

/** As the indices are sorted: created last first, then the id. */
export const newestFirst = [{ teamId: 'asc' }, { position: 'desc' }] as const

/** What finds the rows of a team that every clause finds. */
export const ofTeam = (teamId: TeamId, filter: readonly Clause[]): Clause => ({
  bool: { filter: [{ term: { teamId } }, ...filter] },
})

/** What makes a search give no rows, but how many there are. */
export const countOnly = { size: 0, track_total_hits: true }
