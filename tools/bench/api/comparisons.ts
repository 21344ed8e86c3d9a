import { seededRandom } from '../../sample/random.ts'
import { type Asker, type Comparison, sideBySide, together } from '../comparison.ts'
import type { Asked, HttpRequest, Pace } from '../load.ts'
import type { Goal } from '../report.ts'
import type { Stage } from '../stage.ts'
import {
  bareRequest,
  directRequest,
  type Lists,
  listRequest,
  newDirectRequest,
  newListRequest,
  unchangedRequest,
} from './lists.ts'

export type ListSize = {
  readonly submissions: number
  readonly deepPage: number
  /** Random deep pages start at this row or later. */
  readonly walkFromRow: number
}

const limits = [20, 100]
const calm: Pace = { connections: 1, leadIn: 10, maxRequests: 300, maxMs: 2_000 }
export const crowded: Pace = { connections: 16, leadIn: 100, maxRequests: Number.POSITIVE_INFINITY, maxMs: 2_000 }
const cacheless = 'ANSWER_CACHE_BYTES=0'

type Page = readonly [label: string, origin: string, asked: Asked]

/** Pages by limit, beside the first page of the limit, which is named `base`. The last page has a goal. */
const besideFirst = (base: string, goal: Goal, byLimit: readonly (readonly Page[])[]): Asker[] =>
  limits.flatMap((limit, at) => {
    const pages = byLimit[at] ?? []
    const to = { label: base, of: `${pages[0]?.[0]}, limit=${limit}` }
    return pages.map(([label, origin, asked], place) => ({
      label: `${label}, limit=${limit}`,
      origin,
      requestsOf: () => [asked],
      ...(place > 0 && { to: place < pages.length - 1 ? to : { ...to, goal } }),
    }))
  })

export async function compareAtRest(lists: Lists, size: ListSize, stage: Stage): Promise<Comparison> {
  const { apiOrigin, cachingOrigin, elasticsearchOrigin, bareOrigin } = lists
  const besideDirect = (title: string, pagesOf: (limit: number) => readonly Page[]): Comparison[] => [
    sideBySide(title, calm, besideFirst('direct', { atMost: 1.5 }, limits.map(pagesOf)), stage),
    sideBySide(title, crowded, besideFirst('direct', { atLeast: 0.7 }, limits.map(pagesOf)), stage),
  ]
  const unchangedPage = async (limit: number): Promise<Page[]> => {
    const request = listRequest(lists, limit)
    return [
      ['200', apiOrigin, request],
      ['304', apiOrigin, await unchangedRequest(apiOrigin, request, stage)],
    ]
  }
  const unchangedPages = besideFirst('whole answers', { atLeast: 4 }, await Promise.all(limits.map(unchangedPage)))
  return together([
    deepPages(lists, size, stage, { when: 'at rest', atMost: 1.5 }, [100, size.deepPage, size.submissions / 20]),
    ...besideDirect(`API, ${cacheless}, against Elasticsearch asked directly`, (limit) => [
      ['Elasticsearch', elasticsearchOrigin, directRequest(lists, limit)],
      ['a bare process in between', bareOrigin, bareRequest(`/?limit=${limit}`)],
      ['API', apiOrigin, listRequest(lists, limit)],
    ]),
    // No cached answer is reused here, so that the cost of caching shows.
    ...besideDirect('API against Elasticsearch asked directly, another `until` each time', (limit) => [
      ['Elasticsearch', elasticsearchOrigin, () => newDirectRequest(lists, limit)],
      [`API, ${cacheless}`, apiOrigin, () => newListRequest(lists, limit)],
      ['API', cachingOrigin, () => newListRequest(lists, limit)],
    ]),
    sideBySide(`API, ${cacheless}: 304 for an unchanged list`, crowded, unchangedPages, stage),
  ])
}

/** Every page is requested just after a change. */
export const compareUnderWrites = (lists: Lists, size: ListSize, stage: Stage): Comparison =>
  deepPages(lists, size, stage, { when: 'while the team is written to', atMost: 5 }, [size.deepPage])

function deepPages(
  lists: Lists,
  size: ListSize,
  stage: Stage,
  { when, atMost }: { readonly when: string; readonly atMost: number },
  deep: readonly number[],
): Comparison {
  const origin = lists.apiOrigin
  const to = { label: 'page 1', of: 'page 1' }
  const pages = deep.map((page) => ({
    label: `page ${page.toLocaleString('en')}`,
    origin,
    requestsOf: () => [listRequest(lists, 20, page)],
    to: { ...to, goal: { atMost } },
  }))
  const askers = [
    { label: to.of, origin, requestsOf: () => [listRequest(lists, 20)] },
    ...pages,
    { label: 'random deep pages, each once', origin, requestsOf: walkThrough(lists, size, when), to },
  ]
  return sideBySide(`API, ${cacheless}: deep pages beside the first, limit=20, ${when}`, calm, askers, stage)
}

/** In random order, without a repetition while there are enough. */
function walkThrough(
  lists: Lists,
  { submissions, walkFromRow }: ListSize,
  seed: string,
): (round: number) => readonly HttpRequest[] {
  const [first, last] = [walkFromRow / 20 + 1, submissions / 20]
  const pages = seededRandom(seed).shuffled(Array.from({ length: last - first + 1 }, (_, at) => first + at))
  const pagesOfRound = calm.leadIn + calm.maxRequests
  return (round) =>
    Array.from({ length: pagesOfRound }, (_, at) =>
      listRequest(lists, 20, pages[(round * pagesOfRound + at) % pages.length]),
    )
}
