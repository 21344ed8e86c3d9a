import { type Clause, countOnly, newestFirst, ofTeam, windowClauses } from '../../../src/api/search/clauses.ts'
import type { TeamId } from '../../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../../src/core/model/instant.ts'
import { apiRequest, ask } from '../http.ts'
import type { HttpRequest } from '../load.ts'
import type { Stage } from '../stage.ts'

type Page = { readonly total: number; readonly ids: readonly string[] }

/** `index`: of submission lists. */
export type Lists = {
  /** Origins of an API without an answer cache, and of one with it, as by default. */
  readonly apiOrigin: string
  readonly cachingOrigin: string
  readonly elasticsearchOrigin: string
  readonly bareOrigin: string
  readonly index: string
  readonly teamId: string
  readonly accountKey: string
}

/** An `_msearch` for the newest rows of a team, and for their exact total. */
export function listSearch(index: string, teamId: string, limit: number): string {
  const header = { index, routing: teamId, allow_partial_search_results: false }
  const rows = { ...newestRows(teamId, [], limit), track_total_hits: false }
  return [header, rows, header, { query: rows.query, ...countOnly }].map((line) => `${JSON.stringify(line)}\n`).join('')
}

const newestRows = (teamId: string, filter: readonly Clause[], size: number) => ({
  query: ofTeam(teamId as TeamId, filter),
  sort: newestFirst,
  from: 0,
  size,
})

export const msearch = {
  method: 'POST',
  path: '/_msearch',
  headers: { 'content-type': 'application/x-ndjson' },
} as const

export const directRequest = ({ index, teamId }: Pick<Lists, 'index' | 'teamId'>, limit: number): HttpRequest => ({
  ...msearch,
  body: listSearch(index, teamId, limit),
  expectedStatus: 200,
})

/** Asks Elasticsearch for the first page of a new query, in one search, as the API does. */
export const newDirectRequest = (list: Pick<Lists, 'index' | 'teamId'>, limit: number): HttpRequest => {
  const rows = newestRows(list.teamId, windowClauses('createdAt', undefined, untilNeverAsked()), limit)
  return searchRequest(list, { ...rows, track_total_hits: true })
}

export const searchRequest = ({ index, teamId }: Pick<Lists, 'index' | 'teamId'>, body: object): HttpRequest => ({
  method: 'POST',
  path: `/${index}/_search?routing=${teamId}&allow_partial_search_results=false`,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
  expectedStatus: 200,
})

export const newListRequest = (
  { accountKey }: Pick<Lists, 'accountKey'>,
  limit: number,
  filters: Readonly<Record<string, string>> = {},
): HttpRequest => apiRequest(accountKey, 'records', { ...filters, limit, until: untilNeverAsked() })

/** Later than any submission. */
const firstUntilMs = Date.UTC(2100, 0, 1)
let untilsAsked = 0

/** Excludes nothing: no cache of any contender has the answer. */
export const untilNeverAsked = (): Instant => toInstant(firstUntilMs + untilsAsked++)

/** A bare process serves one team and needs no key. */
export const bareRequest = (path: string): HttpRequest => ({ method: 'GET', path, headers: {}, expectedStatus: 200 })

export const listRequest = ({ accountKey }: Pick<Lists, 'accountKey'>, limit: number, page = 1): HttpRequest =>
  apiRequest(accountKey, 'records', { limit, page })

/** With the present ETag, the answer is 304. */
export async function unchangedRequest(origin: string, request: HttpRequest, stage: Stage): Promise<HttpRequest> {
  const { etag } = await ask(origin, request, stage)
  if (etag === undefined) throw new Error(`${request.path} is answered without an ETag`)
  return { ...request, headers: { ...request.headers, 'if-none-match': etag }, expectedStatus: 304 }
}

/** Otherwise times cannot be compared. `expected`: the total. */
export async function expectSameAnswers(lists: Lists, expected: number, stage: Stage): Promise<void> {
  const limit = 20
  const pageOf = async (origin: string, request: HttpRequest): Promise<Page> =>
    pageIn((await ask(origin, request, stage)).json)
  const api = await pageOf(lists.apiOrigin, listRequest(lists, limit))
  if (api.total !== expected) throw new Error(`the API counts ${api.total} submissions instead of ${expected}`)
  const others = {
    Elasticsearch: await pageOf(lists.elasticsearchOrigin, directRequest(lists, limit)),
    'Elasticsearch, asked a new question,': await pageOf(lists.elasticsearchOrigin, newDirectRequest(lists, limit)),
    'the bare process': await pageOf(lists.bareOrigin, bareRequest(`/?limit=${limit}`)),
    'the API with its answer cache': await pageOf(lists.cachingOrigin, listRequest(lists, limit)),
    'the API, asked a new question,': await pageOf(lists.cachingOrigin, newListRequest(lists, limit)),
  }
  for (const [name, page] of Object.entries(others))
    if (page.total !== api.total || page.ids.join() !== api.ids.join())
      throw new Error(`${name} answers another page than the API`)
}

/** Reads a page from an answer of the API, or of one or two searches. */
function pageIn(json: unknown): Page {
  type Found = { hits: { total: { value: number }; hits: { _source: { summary: { id: string } } }[] } }
  const answer = json as { totalDocs: number; items: { id: string }[] } | { responses: [Found, Found] } | Found
  if ('items' in answer) return { total: answer.totalDocs, ids: answer.items.map(({ id }) => id) }
  const [rows, count] = 'responses' in answer ? answer.responses : [answer, answer]
  return { total: count.hits.total.value, ids: rows.hits.hits.map(({ _source }) => _source.summary.id) }
}
