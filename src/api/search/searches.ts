import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { readAnswer, readAnswers, type SearchAnswer } from './hits.ts'
import { classifyErrorResponse, ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

type Body = Readonly<Record<string, unknown>>

const wholeShard = (teamId: TeamId) => ({ ...teamShard(teamId), allow_partial_search_results: false })

/**
 * Searches the shard of a team in the index that serves one of its lists. `body` must select the team. Rejects with
 * `ElasticsearchUnavailable`, also when there is no such index or a part does not answer.
 */
export async function searchTeam<Answer = SearchAnswer>(
  { indexPrefix, send }: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  body: Body,
  signal: AbortSignal,
  read: (bytes: Buffer) => Answer = readAnswer as (bytes: Buffer) => Answer,
): Promise<Answer> {
  const path = `/${aliasOf(indexPrefix, kind)}/_search`
  const { isFound, bytes } = await send({ method: 'POST', path, querystring: wholeShard(teamId), body }, signal)
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  return read(bytes)
}

/** Two such searches at the same time, in one `_msearch`. Each one may see another refresh. Rejects like `searchTeam`. */
export async function searchTeamTwice(
  { indexPrefix, send }: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  bodies: readonly [Body, Body],
  signal: AbortSignal,
): Promise<readonly [SearchAnswer, SearchAnswer]> {
  const header = { ...wholeShard(teamId), index: aliasOf(indexPrefix, kind) }
  const bulkBody = bodies.flatMap((body) => [header, body])
  const { bytes } = await send({ method: 'POST', path: '/_msearch', querystring: {}, bulkBody }, signal)
  const [first, second, ...others] = readAnswers(bytes).map((answer) => {
    if (!('status' in answer)) return answer
    throw answer.status === 404
      ? new ElasticsearchUnavailable('missing-index', answer.type)
      : classifyErrorResponse(answer.status, answer.type)
  })
  if (first !== undefined && second !== undefined && others.length === 0) return [first, second]
  throw new ElasticsearchUnavailable('partial', 'not as many answers as searches')
}
