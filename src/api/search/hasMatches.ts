import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { countOnly, deletedOfTeam, ofTeam } from './clauses.ts'
import type { ExportContent } from './exportList.ts'
import { readAnswer, totalOf } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

/** Whether any row of a team's list matches one of the filters, or any deletion is selected. Rejects with `ElasticsearchUnavailable`. */
export async function hasMatches(
  { indexPrefix, send }: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  { filters, deletions }: Pick<ExportContent, 'filters' | 'deletions'>,
  signal: AbortSignal,
): Promise<boolean> {
  const path = `/${aliasOf(indexPrefix, kind)}/_search`
  const querystring = { ...teamShard(teamId), allow_partial_search_results: false }
  const queries = filters.map((filter) => ofTeam(teamId, filter))
  if (deletions !== undefined) queries.push(deletedOfTeam(teamId, deletions))
  for (const query of queries) {
    // One row is as good as many: each shard stops at the first one.
    const body = { query, ...countOnly, terminate_after: 1 }
    const { isFound, bytes } = await send({ method: 'POST', path, querystring, body }, signal)
    if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
    if (totalOf(readAnswer(bytes)) > 0) return true
  }
  return false
}
