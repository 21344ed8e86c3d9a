import { seededRandom } from '../../demo/random.ts'
import { asking, type Comparison, together } from '../comparison.ts'
import type { Asked, HttpRequest, Pace } from '../load.ts'
import type { Row } from '../report.ts'
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
  /** Submissions of the team. */
  readonly submissions: number
  readonly deepPage: number
  /** Random deep pages begin at this row or later. */
  readonly walkFromRow: number
}

const limits = [20, 100]
const calm: Pace = { connections: 1, leadIn: 10, maxRequests: 300, maxMs: 2_000 }
export const crowded: Pace = { connections: 16, leadIn: 100, maxRequests: Number.POSITIVE_INFINITY, maxMs: 2_000 }
const count = (value: number): string => value.toLocaleString('en')

/** A first page, and who is asked for it: the first one directly, and the last one has a target. */
type FirstPage = {
  readonly title: string
  readonly askers: readonly { readonly label: string; readonly origin: string; requestOf(limit: number): Asked }[]
}

/** The same question again and again, of an API that keeps no answers. */
const firstPage = (lists: Lists): FirstPage => ({
  title: 'API with ANSWER_CACHE_BYTES=0 against Elasticsearch asked directly',
  askers: [
    { label: 'Elasticsearch', origin: lists.elasticsearchOrigin, requestOf: (limit) => directRequest(lists, limit) },
    { label: 'a bare process in between', origin: lists.bareOrigin, requestOf: bareRequest },
    { label: 'API', origin: lists.apiOrigin, requestOf: (limit) => listRequest(lists, limit) },
  ],
})

/** No answer that was kept helps with these; keeping them costs something. */
function newFirstPage(lists: Lists): FirstPage {
  const direct = (limit: number) => () => newDirectRequest(lists, limit)
  const listed = (limit: number) => () => newListRequest(lists, limit)
  return {
    title: 'API against Elasticsearch asked directly, another `until` each time',
    askers: [
      { label: 'Elasticsearch, new question', origin: lists.elasticsearchOrigin, requestOf: direct },
      { label: 'API, ANSWER_CACHE_BYTES=0, new question', origin: lists.apiOrigin, requestOf: listed },
      { label: 'API, new question', origin: lists.cachingOrigin, requestOf: listed },
    ],
  }
}

function besideDirect({ title, askers }: FirstPage, pace: Pace, { signal }: Stage): Comparison {
  const isCalm = pace.connections === 1
  const goal = isCalm ? { atMost: 1.5 } : { atLeast: 0.7 }
  const name = (label: string | undefined, limit: number): string =>
    `${label}, limit=${limit}, ${pace.connections} at once`
  const rowOf = (limit: number, label: string, place: number): Row => {
    const row = { label: `${label}, limit=${limit}`, of: name(label, limit) }
    if (place === 0) return row
    const to = { label: 'direct', of: name(askers[0]?.label, limit) }
    return { ...row, to: place < askers.length - 1 ? to : { ...to, goal } }
  }
  return {
    contenders: limits.flatMap((limit) =>
      askers.map(({ label, origin, requestOf }) =>
        asking(name(label, limit), origin, pace, signal, () => [requestOf(limit)]),
      ),
    ),
    sections: [
      {
        title: `${title}, ${isCalm ? 'one request after the other' : `${pace.connections} at once`}`,
        measure: isCalm ? 'latency' : 'answers a second',
        rows: limits.flatMap((limit) => askers.map(({ label }, place) => rowOf(limit, label, place))),
      },
    ],
  }
}

/** What is compared while nothing is written. */
export async function compareAtRest(lists: Lists, size: ListSize, stage: Stage): Promise<Comparison> {
  const pages = [firstPage(lists), newFirstPage(lists)]
  return together([
    deepPages(lists, size, stage, 'at rest', [100, size.deepPage, size.submissions / 20]),
    ...pages.flatMap((page) => [calm, crowded].map((pace) => besideDirect(page, pace, stage))),
    await unchangedPages(lists, stage),
  ])
}

async function unchangedPages(lists: Lists, stage: Stage): Promise<Comparison> {
  const requests = await Promise.all(
    limits.map((limit) => unchangedRequest(lists.apiOrigin, listRequest(lists, limit), stage)),
  )
  const name = (limit: number): string => `304, limit=${limit}`
  return {
    contenders: limits.map((limit, place) =>
      asking(name(limit), lists.apiOrigin, crowded, stage.signal, () => requests.slice(place, place + 1)),
    ),
    sections: [
      {
        title: `API with ANSWER_CACHE_BYTES=0: 304 for an unchanged list, ${crowded.connections} at once`,
        measure: 'answers a second',
        rows: limits.map((limit) => ({
          label: name(limit),
          of: name(limit),
          to: {
            label: 'whole answers',
            of: `API, limit=${limit}, ${crowded.connections} at once`,
            goal: { atLeast: 4 },
          },
        })),
      },
    ],
  }
}

/** What is compared while the team is written to: every page comes just after a change. */
export const compareUnderWrites = (lists: Lists, size: ListSize, stage: Stage): Comparison =>
  deepPages(lists, size, stage, 'while the team is written to', [size.deepPage])

function deepPages(lists: Lists, size: ListSize, stage: Stage, when: string, deep: readonly number[]): Comparison {
  const name = (page: number): string => `page ${count(page)}, ${when}`
  const walk = `random deep pages, ${when}`
  const to = { label: 'page 1', of: name(1) }
  return {
    contenders: [
      ...[1, ...deep].map((page) =>
        asking(name(page), lists.apiOrigin, calm, stage.signal, () => [listRequest(lists, 20, page)]),
      ),
      asking(walk, lists.apiOrigin, calm, stage.signal, walkThrough(lists, size, when)),
    ],
    sections: [
      {
        title: `API with ANSWER_CACHE_BYTES=0: deep pages beside the first, limit=20, ${when}`,
        measure: 'latency',
        rows: [
          { label: 'page 1', of: name(1) },
          ...deep.map((page) => ({
            label: `page ${count(page)}`,
            of: name(page),
            to: { ...to, goal: { atMost: 1.5 } },
          })),
          { label: 'random deep pages, each once', of: walk, to },
        ],
      },
    ],
  }
}

/** Deep pages in no order, none of them twice as long as there are enough. */
function walkThrough(
  lists: Lists,
  { submissions, walkFromRow }: ListSize,
  seed: string,
): (round: number) => readonly HttpRequest[] {
  const [first, last] = [walkFromRow / 20 + 1, submissions / 20]
  const pages = seededRandom(seed).shuffled(Array.from({ length: last - first + 1 }, (_, at) => first + at))
  const each = calm.leadIn + calm.maxRequests
  return (round) =>
    Array.from({ length: each }, (_, at) => listRequest(lists, 20, pages[(round * each + at) % pages.length]))
}
