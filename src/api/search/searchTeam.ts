import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { readAnswer, type SearchAnswer } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

/**
 * Searches the shard of a team in the index that serves one of its lists. `body` must select the team. Rejects with
 * `ElasticsearchUnavailable`, also when there is no such index or a part does not answer.
 */
export async function searchTeam(
  { indexPrefix, send }: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  body: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<SearchAnswer> {
  const path = `/${aliasOf(indexPrefix, kind)}/_search`
  const querystring = { ...teamShard(teamId), allow_partial_search_results: false }
  const { isFound, bytes } = await send({ method: 'POST', path, querystring, body }, signal)
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  return readAnswer(bytes)
}
