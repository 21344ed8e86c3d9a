import { newestFirst } from '../../../src/api/search/clauses.ts'
import { aliasOf } from '../../../src/core/stores/indices.ts'
import type { HttpRequest } from '../load/job.ts'
import { largeTeam, newestMs } from './submissions.ts'

const dayMs = 86_400_000
const since = new Date(newestMs - 30 * dayMs).toISOString()

/** A filter as the API is asked for it, and as the API asks Elasticsearch for it. */
export const filters = {
  none: { query: {}, clauses: [] },
  'status=completed': { query: { status: 'completed' }, clauses: [{ term: { status: 'completed' } }] },
  'since=…': { query: { since }, clauses: [{ range: { createdAt: { gte: since } } }] },
} as const
export type FilterName = keyof typeof filters

export type ListQuestion = { readonly limit: number; readonly page: number; readonly filter: FilterName }

/** Asks the API for a list; with the ETag of what is known already, whether that still holds. */
export function listRequest({ limit, page, filter }: ListQuestion, accountKey: string, etag?: string): HttpRequest {
  const query = new URLSearchParams({ ...filters[filter].query, limit: String(limit), page: String(page) })
  return {
    method: 'GET',
    path: `/api/v1/records?${query}`,
    headers: { authorization: `Bearer ${accountKey}`, ...(etag !== undefined && { 'if-none-match': etag }) },
    expectedStatus: etag === undefined ? 200 : 304,
  }
}

/** Asks Elasticsearch for the first rows of a team's list and, beside it, for the total. */
export function rawRequests(
  indexPrefix: string,
  limit: number,
  filter: FilterName,
  teamId: string = largeTeam,
): HttpRequest[] {
  const query = { bool: { filter: [{ term: { teamId } }, ...filters[filter].clauses] } }
  const ask = (what: string, body: unknown): HttpRequest => ({
    method: 'POST',
    path: `/${aliasOf(indexPrefix, 'submissions')}/${what}`,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    expectedStatus: 200,
  })
  return [
    ask(`_search?routing=${teamId}&allow_partial_search_results=false`, {
      query,
      sort: newestFirst,
      track_total_hits: false,
      size: limit,
    }),
    ask(`_count?routing=${teamId}`, { query }),
  ]
}
