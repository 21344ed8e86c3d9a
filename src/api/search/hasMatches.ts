import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { countOnly, deletedOfTeam, ofTeam } from './clauses.ts'
import type { ExportContent } from './exportList.ts'
import { totalOf } from './hits.ts'
import type { SearchClient } from './searchClient.ts'
import { searchTeam } from './searchTeam.ts'

/** Whether any row of a team's list matches one of the filters, or any deletion is selected. Rejects with `ElasticsearchUnavailable`. */
export async function hasMatches(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  { filters, deletions }: Pick<ExportContent, 'filters' | 'deletions'>,
  signal: AbortSignal,
): Promise<boolean> {
  const queries = filters.map((filter) => ofTeam(teamId, filter))
  if (deletions !== undefined) queries.push(deletedOfTeam(teamId, deletions))
  for (const query of queries) {
    // One row is as good as many: each shard stops at the first one.
    const body = { query, ...countOnly, terminate_after: 1 }
    if (totalOf(await searchTeam(client, kind, teamId, body, signal)) > 0) return true
  }
  return false
}
