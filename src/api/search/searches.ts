import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { readAnswer, readAnswers, type SearchAnswer } from './hits.ts'
import { classifyErrorResponse, ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

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

/** One search of an `_msearch`. The header names its index and options; it is empty for a search of a snapshot. */
type Search = {
  readonly header: Readonly<Record<string, string | boolean>>
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * Runs several searches concurrently in one `_msearch`. Outside of a snapshot each one may see another refresh. `missing` is the
 * reason given for a 404. Rejects with `ElasticsearchUnavailable`.
 */
export async function multiSearch<const Searches extends readonly Search[]>(
  { send }: Pick<SearchClient, 'send'>,
  searches: Searches,
  missing: ElasticsearchUnavailable['reason'],
  signal: AbortSignal,
): Promise<{ readonly [At in keyof Searches]: SearchAnswer }> {
  const bulkBody = searches.flatMap(({ header, body }) => [header, body])
  const { bytes } = await send({ method: 'POST', path: '/_msearch', querystring: {}, bulkBody }, signal)
  const answers = readAnswers(bytes).map((answer) => {
    if (!('status' in answer)) return answer
    throw answer.status === 404
      ? new ElasticsearchUnavailable(missing, answer.type)
      : classifyErrorResponse(answer.status, answer.type)
  })
  if (answers.length !== searches.length)
    throw new ElasticsearchUnavailable('partial', `${answers.length} answers to ${searches.length} searches`)
  return answers as { readonly [At in keyof Searches]: SearchAnswer }
}
