import { readAnswers, type SearchAnswer } from './hits.ts'
import type { SearchClient } from './searchClient.ts'
import { judgeRefusal, ReplicaUnavailable } from './unavailable.ts'

/** A search, and in which index and how it is to be made; a snapshot knows where it is. */
export type Search = {
  readonly header: Readonly<Record<string, string | boolean>>
  readonly body: Readonly<Record<string, unknown>>
}

/**
 * Asks several things in one request, which Elasticsearch looks for at the same time; outside of a snapshot each one sees the
 * list as it is just then. `missing` says what is not there when a search finds no place. Rejects with `ReplicaUnavailable`.
 */
export async function searchTogether<const Searches extends readonly Search[]>(
  { ask }: Pick<SearchClient, 'ask'>,
  searches: Searches,
  missing: ReplicaUnavailable['reason'],
  signal: AbortSignal,
): Promise<{ readonly [At in keyof Searches]: SearchAnswer }> {
  const bulkBody = searches.flatMap(({ header, body }) => [header, body])
  const { bytes } = await ask({ method: 'POST', path: '/_msearch', querystring: {}, bulkBody }, signal)
  const answers = readAnswers(bytes).map((answer) => {
    if (!('status' in answer)) return answer
    throw answer.status === 404
      ? new ReplicaUnavailable(missing, answer.type)
      : judgeRefusal(answer.status, answer.type)
  })
  if (answers.length !== searches.length)
    throw new ReplicaUnavailable('partial', `${answers.length} answers to ${searches.length} searches`)
  return answers as { readonly [At in keyof Searches]: SearchAnswer }
}
