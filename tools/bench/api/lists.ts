import { countOnly, newestFirst, ofTeam } from '../../../src/api/search/clauses.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import { apiRequest, ask } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import type { Stage } from '../stage.ts'

/** The rows and the exact total that one page of a list shows. */
type Page = { readonly total: number; readonly ids: readonly string[] }

/** Whom lists are asked of; `index` is that of submission lists. */
export type Lists = {
  readonly apiOrigin: string
  readonly elasticsearchOrigin: string
  readonly bareOrigin: string
  readonly index: string
  readonly teamId: string
  readonly accountKey: string
}

/** The body of `_msearch` that asks for the newest rows of a team and for their exact total, as the API does. */
export function listSearch(index: string, teamId: string, limit: number): string {
  const header = { index, routing: teamId, allow_partial_search_results: false }
  const query = ofTeam(teamId as TeamId, [])
  const rows = { query, sort: newestFirst, from: 0, size: limit, track_total_hits: false }
  return [header, rows, header, { query, ...countOnly }].map((line) => `${JSON.stringify(line)}\n`).join('')
}

export const msearch = {
  method: 'POST',
  path: '/_msearch',
  headers: { 'content-type': 'application/x-ndjson' },
} as const

/** Asks Elasticsearch for the first page. */
export const directRequest = ({ index, teamId }: Pick<Lists, 'index' | 'teamId'>, limit: number): HttpRequest => ({
  ...msearch,
  body: listSearch(index, teamId, limit),
  expectedStatus: 200,
})

/** Asks the bare process for the first page. */
export const bareRequest = (limit: number): HttpRequest => ({
  method: 'GET',
  path: `/?limit=${limit}`,
  headers: {},
  expectedStatus: 200,
})

/** Asks the API for a page. */
export const listRequest = ({ accountKey }: Pick<Lists, 'accountKey'>, limit: number, page = 1): HttpRequest =>
  apiRequest(accountKey, 'records', { limit, page })

/** Asks the API whether its first page has changed since now: it has not. */
export async function unchangedRequest(lists: Lists, limit: number, stage: Stage): Promise<HttpRequest> {
  const { etag } = await ask(lists.apiOrigin, listRequest(lists, limit), stage)
  if (etag === undefined) throw new Error('a list is answered without an ETag')
  return apiRequest(lists.accountKey, 'records', { limit, page: 1 }, etag)
}

/** Rejects unless everybody answers the first page alike and the total is `expected`: else their times mean nothing. */
export async function expectSameAnswers(lists: Lists, expected: number, stage: Stage): Promise<void> {
  const limit = 20
  const api = apiPage((await ask(lists.apiOrigin, listRequest(lists, limit), stage)).json)
  if (api.total !== expected) throw new Error(`the API counts ${api.total} submissions instead of ${expected}`)
  const others = {
    Elasticsearch: await ask(lists.elasticsearchOrigin, directRequest(lists, limit), stage),
    'the bare process': await ask(lists.bareOrigin, bareRequest(limit), stage),
  }
  for (const [name, { json }] of Object.entries(others)) {
    const found = searchedPage(json)
    if (found.total !== api.total || found.ids.join() !== api.ids.join())
      throw new Error(`${name} answers another page than the API`)
  }
}

function apiPage(json: unknown): Page {
  const { totalDocs, items } = json as { totalDocs: number; items: { id: string }[] }
  return { total: totalDocs, ids: items.map(({ id }) => id) }
}

function searchedPage(json: unknown): Page {
  type Found = { hits: { total: { value: number }; hits: { _source: { summary: { id: string } } }[] } }
  const [rows, count] = (json as { responses: [Found, Found] }).responses
  return { total: count.hits.total.value, ids: rows.hits.hits.map(({ _source }) => _source.summary.id) }
}
