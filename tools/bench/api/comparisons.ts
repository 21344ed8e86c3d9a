import { seededRandom } from '../../demo/random.ts'
import { asking, type Comparison } from '../comparison.ts'
import type { HttpRequest, Pace, Sample } from '../load.ts'
import type { Section } from '../report.ts'
import type { Contender } from '../rounds.ts'
import type { Stage } from '../stage.ts'
import { bareRequest, directRequest, type Lists, listRequest, unchangedRequest } from './lists.ts'

export type ListSize = {
  /** Submissions of the team. */
  readonly submissions: number
  readonly deepPage: number
  /** Random deep pages begin at this row or later. */
  readonly walkFromRow: number
}

const limits = [20, 100]
const calm: Pace = { connections: 1, leadIn: 10, maxRequests: 300, maxMs: 2_000 }
const crowded: Pace = { connections: 16, leadIn: 100, maxRequests: Number.POSITIVE_INFINITY, maxMs: 2_000 }
const bareName = 'a bare process in between'
const count = (value: number): string => value.toLocaleString('en')

/** The first page of the API, of Elasticsearch asked directly, and of a bare process in between. */
function firstPages(lists: Lists, { signal }: Stage, pace: Pace, limit: number): Contender<Sample>[] {
  const at = `limit=${limit}, ${pace.connections} at once`
  return [
    asking(`direct, ${at}`, lists.elasticsearchOrigin, pace, signal, () => [directRequest(lists, limit)]),
    asking(`bare, ${at}`, lists.bareOrigin, pace, signal, () => [bareRequest(limit)]),
    asking(`API, ${at}`, lists.apiOrigin, pace, signal, () => [listRequest(lists, limit)]),
  ]
}

function besideDirect(pace: Pace, goal: { atMost: number } | { atLeast: number }): Section['rows'] {
  return limits.flatMap((limit) => {
    const at = `limit=${limit}, ${pace.connections} at once`
    const to = { label: 'direct', of: `direct, ${at}` }
    return [
      { label: `Elasticsearch, limit=${limit}`, of: to.of },
      { label: `${bareName}, limit=${limit}`, of: `bare, ${at}`, to },
      { label: `API, limit=${limit}`, of: `API, ${at}`, to: { ...to, goal } },
    ]
  })
}

/** What is compared while nothing is written. */
export async function compareAtRest(lists: Lists, size: ListSize, stage: Stage): Promise<Comparison> {
  const deep = deepPages(lists, size, stage, 'at rest', [100, size.deepPage, size.submissions / 20])
  const paces = limits.flatMap((limit) => [calm, crowded].map((pace) => firstPages(lists, stage, pace, limit)))
  const unchanged = await Promise.all(
    limits.map(async (limit) => {
      const request = await unchangedRequest(lists, limit, stage)
      return asking(`304, limit=${limit}`, lists.apiOrigin, crowded, stage.signal, () => [request])
    }),
  )
  return {
    contenders: [...deep.contenders, ...paces.flat(), ...unchanged],
    sections: [
      ...deep.sections,
      {
        title: 'API against Elasticsearch asked directly, one request after the other',
        measure: 'latency',
        rows: besideDirect(calm, { atMost: 1.5 }),
      },
      {
        title: `API against Elasticsearch asked directly, ${crowded.connections} at once`,
        measure: 'answers a second',
        rows: besideDirect(crowded, { atLeast: 0.7 }),
      },
      {
        title: `API: 304 for an unchanged list, ${crowded.connections} at once`,
        measure: 'answers a second',
        rows: limits.map((limit) => ({
          label: `304, limit=${limit}`,
          of: `304, limit=${limit}`,
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
        title: `API: deep pages beside the first, limit=20, ${when}`,
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
