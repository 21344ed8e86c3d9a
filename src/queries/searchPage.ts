import type { estypes } from '@elastic/elasticsearch'
import type { TeamId } from '../domain/identifiers.ts'
import type { Instant } from '../domain/instant.ts'
import { aliasOf } from '../replica/indices.ts'
import { readHits } from './hits.ts'
import type { Page, PageRequest } from './page.ts'
import type { Replica } from './replica.ts'
import { ReplicaUnavailable } from './unavailable.ts'

export type Clause = estypes.QueryDslQueryContainer

/** Both ends belong to the window; an end that is not given is open. */
export type Window = { readonly since?: Instant | undefined; readonly until?: Instant | undefined }

/** The index setting `max_result_window` of the list indices: Elasticsearch counts in 32 bits. */
const maxResultWindow = 2 ** 31 - 1

/**
 * One page of a team's list, newest first, with the exact total. A page past the last one is empty.
 * Rejects with `ReplicaUnavailable`.
 */
export async function searchPage(
  { indexPrefix, ask }: Replica,
  kind: 'forms' | 'submissions',
  teamId: TeamId,
  clauses: readonly Clause[],
  { page, limit }: PageRequest,
  signal: AbortSignal,
): Promise<Page> {
  const from = (page - 1) * limit
  const isReachable = from <= maxResultWindow - limit
  const { isFound, text } = await ask(
    {
      method: 'POST',
      path: `/${aliasOf(indexPrefix, kind)}/_search`,
      querystring: { routing: teamId, allow_partial_search_results: false },
      body: {
        query: { bool: { filter: [{ term: { teamId } }, ...clauses] } },
        sort: [{ teamId: 'asc' }, { position: 'desc' }],
        track_total_hits: true,
        ...(isReachable ? { from, size: limit } : { size: 0 }),
      },
    },
    signal,
  )
  if (!isFound) throw new ReplicaUnavailable('missing-index', kind)
  const { total, summaries } = readHits(text)
  return { totalDocs: total, page, limit, items: summaries }
}

/** The clauses that a window on a date field needs: none when it is open at both ends. */
export const within = (field: 'createdAt' | 'changedAt', { since, until }: Window): Clause[] =>
  since === undefined && until === undefined
    ? []
    : [
        {
          range: {
            [field]: { ...(since !== undefined && { gte: since }), ...(until !== undefined && { lte: until }) },
          },
        },
      ]

/** The clause that a filter on one value needs: none when it is not given. */
export const equalTo = (field: 'scene' | 'formId' | 'status', value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]
