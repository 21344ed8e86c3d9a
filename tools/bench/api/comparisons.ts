import type { SqlAddress } from '../load/job.ts'
import { type Comparison, together } from '../measuring.ts'
import type { Row } from '../report.ts'
import { bareName } from './bareReader.ts'
import {
  apiList,
  apiUnchanged,
  apiWalk,
  bareList,
  calm,
  crowded,
  type Measuring,
  rawList,
  sqlPage,
} from './contenders.ts'
import { etagOf } from './etag.ts'
import type { FilterName } from './lists.ts'

const deepPages = { 20: [100, 10_000, 11_000], 100: [100, 2_200] } as const
const sqlPages = [1, 100, 10_000, 11_000]
const extraFilters: FilterName[] = ['status=completed', 'since=…']
export const writesPerSecond = 20

const pageLabel = (page: number): string => `page ${page.toLocaleString('en')}`
const pageName = (limit: number, page: number): string => `${pageLabel(page)}, limit=${limit}`
const walkName = (limit: number): string => `random deep pages, limit=${limit}`
const manyName = (limit: number): string => `${crowded.atOnce} at once, limit=${limit}`

/** Everything that is compared while nothing is written; without PostgreSQL when there is none. */
export async function compareAtRest(measuring: Measuring, sql: SqlAddress | undefined): Promise<Comparison> {
  return together([
    deepPagesOf(measuring, 20),
    deepPagesOf(measuring, 100),
    filtered(measuring),
    throughput(measuring),
    await unchanged(measuring),
    ...(sql === undefined ? [] : [postgres(measuring, sql)]),
  ])
}

function deepPagesOf(measuring: Measuring, limit: 20 | 100): Comparison {
  const first = { label: 'page 1', of: pageName(limit, 1) }
  const pages = [1, ...deepPages[limit]].map((page) => apiList(pageName(limit, page), measuring, calm, { limit, page }))
  const raw = `Elasticsearch, limit=${limit}`
  const bare = `${bareName}, limit=${limit}`
  return {
    contenders: [
      ...pages,
      apiWalk(walkName(limit), measuring, limit),
      rawList(raw, measuring, calm, { limit }),
      bareList(bare, measuring, calm, limit),
    ],
    sections: [
      {
        title: `API: any page at the cost of the first, limit=${limit}`,
        measure: 'latency',
        rows: [
          { label: pageLabel(1), of: pageName(limit, 1) },
          ...deepPages[limit].map((page) => ({
            label: pageLabel(page),
            of: pageName(limit, page),
            to: { ...first, goal: { atMost: 1.5 } },
          })),
          { label: 'random deep pages', of: walkName(limit), to: first },
        ],
      },
      {
        title: `API against the same _search and _count asked of Elasticsearch directly, limit=${limit}`,
        measure: 'latency',
        rows: [
          { label: 'Elasticsearch', of: raw },
          { label: bareName, of: bare, to: { label: 'direct', of: raw } },
          {
            label: 'API',
            of: pageName(limit, 1),
            to: { label: 'direct', of: raw, goal: { atMost: 1.5 } },
          },
        ],
      },
    ],
  }
}

function filtered(measuring: Measuring): Comparison {
  const names = (filter: FilterName) => ({ raw: `Elasticsearch, ${filter}`, api: `API, ${filter}` })
  return {
    contenders: extraFilters.flatMap((filter) => [
      rawList(names(filter).raw, measuring, calm, { filter }),
      apiList(names(filter).api, measuring, calm, { filter }),
    ]),
    sections: [
      {
        title: 'The same with filters, limit=20',
        measure: 'latency',
        rows: extraFilters.flatMap((filter) => {
          const { raw, api } = names(filter)
          return [
            { label: raw, of: raw },
            { label: api, of: api, to: { label: 'direct', of: raw } },
          ]
        }),
      },
    ],
  }
}

function throughput(measuring: Measuring): Comparison {
  const names = (limit: number) => ({
    raw: `Elasticsearch, ${manyName(limit)}`,
    bare: `${bareName}, ${manyName(limit)}`,
    api: `API, ${manyName(limit)}`,
  })
  return {
    contenders: [20, 100].flatMap((limit) => [
      rawList(names(limit).raw, measuring, crowded, { limit }),
      bareList(names(limit).bare, measuring, crowded, limit),
      apiList(names(limit).api, measuring, crowded, { limit }),
    ]),
    sections: [
      {
        title: 'API against Elasticsearch directly, throughput',
        measure: 'throughput',
        rows: [20, 100].flatMap((limit) => {
          const { raw, bare, api } = names(limit)
          return [
            { label: raw, of: raw },
            { label: bare, of: bare, to: { label: 'direct', of: raw } },
            { label: api, of: api, to: { label: 'direct', of: raw, goal: { atLeast: 0.7 } } },
          ]
        }),
      },
    ],
  }
}

async function unchanged(measuring: Measuring): Promise<Comparison> {
  const limits = [20, 100]
  const name = (limit: number): string => `304, ${manyName(limit)}`
  const whole = (limit: number): string => `200, ${manyName(limit)}`
  return {
    contenders: await Promise.all(
      limits.map(async (limit) => apiUnchanged(name(limit), measuring, limit, await etagOf(measuring, limit))),
    ),
    sections: [
      {
        title: 'API: conditional requests for an unchanged list, throughput',
        measure: 'throughput',
        rows: limits.flatMap((limit) => [
          { label: whole(limit), of: `API, ${manyName(limit)}` },
          {
            label: name(limit),
            of: name(limit),
            to: { label: 'whole answers', of: `API, ${manyName(limit)}`, goal: { atLeast: 4 } },
          },
        ]),
      },
    ],
  }
}

function postgres(measuring: Measuring, address: SqlAddress): Comparison {
  const name = (page: number): string => `PostgreSQL, ${pageLabel(page)}`
  const byIndexName = (page: number): string => `${name(page)}, passing over rows in the index`
  const byIndexPages = sqlPages.slice(2)
  const api = (page: number): Row => ({ label: `API, ${pageLabel(page)}`, of: pageName(20, page) })
  const row = (label: string, page: number): Row => ({ label, of: label, to: api(page) })
  return {
    contenders: [
      ...sqlPages.map((page) => sqlPage(name(page), measuring, address, { page })),
      ...byIndexPages.map((page) => sqlPage(byIndexName(page), measuring, address, { page, isByIndex: true })),
    ],
    sections: [
      {
        title: 'PostgreSQL, the page by OFFSET and beside it the exact count, limit=20',
        measure: 'latency',
        rows: [
          ...sqlPages.flatMap((page) => [api(page), row(name(page), page)]),
          ...byIndexPages.map((page) => row(byIndexName(page), page)),
        ],
      },
    ],
  }
}

/** What is compared while the team is written to. */
export function compareUnderWrites(measuring: Measuring): Comparison {
  const first = 'page 1, under writes'
  const page = 'page 10,000, under writes'
  const walk = 'random deep pages, under writes'
  const to = { label: 'page 1', of: first }
  return {
    contenders: [
      apiList(first, measuring, calm, { page: 1 }),
      apiList(page, measuring, calm, { page: 10_000 }),
      apiWalk(walk, measuring, 20),
    ],
    sections: [
      {
        title: `API while ${writesPerSecond} submissions a second of that team are indexed, limit=20`,
        measure: 'latency',
        rows: [
          { label: first, of: first },
          { label: page, of: page, to },
          { label: walk, of: walk, to },
        ],
      },
    ],
  }
}
