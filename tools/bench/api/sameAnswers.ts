import type { Client } from 'pg'
import { askJson } from '../askJson.ts'
import type { SqlAddress } from '../load/job.ts'
import { connected } from '../postgres.ts'
import { bareRequest } from './bareReader.ts'
import type { Measuring } from './contenders.ts'
import { listRequest, rawRequests } from './lists.ts'
import { pageByIndexQueries, pageQueries } from './sqlTable.ts'
import { largeTeamSubmissions } from './submissions.ts'

type Page = { readonly total: number; readonly ids: readonly string[] }
type Summary = { readonly id: string }
type Found = {
  readonly hits: {
    readonly total: { readonly value: number }
    readonly hits: readonly { readonly _source: { readonly summary: Summary } }[]
  }
}

const limit = 20
const pages = [1, 100, 10_000, largeTeamSubmissions / limit]

/** Rejects unless all contenders give the same answers: figures of anything else would mean nothing. */
export async function expectSameAnswers(measuring: Measuring, sql: SqlAddress | undefined): Promise<void> {
  const first = await askApi(measuring, 1)
  expectSame('Elasticsearch, page 1', await askElasticsearch(measuring), first)
  expectSame('A bare process in between, page 1', await askBareReader(measuring), first)
  if (first.total !== largeTeamSubmissions) throw new Error(`the API counts ${first.total} submissions`)
  if (sql === undefined) return
  await connected(sql, async (client) => {
    for (const page of pages)
      for (const queries of [pageQueries(page, limit), pageByIndexQueries(page, limit)])
        expectSame(`PostgreSQL, page ${page}`, await askPostgres(client, queries), await askApi(measuring, page))
  })
}

function expectSame(name: string, found: Page, expected: Page): void {
  if (found.total !== expected.total || found.ids.join() !== expected.ids.join())
    throw new Error(`${name} gives another answer than the API`)
}

async function askApi({ origin, accountKey, stage }: Measuring, page: number): Promise<Page> {
  const request = listRequest({ limit, page, filter: 'none' }, accountKey)
  const { totalDocs, items } = (await askJson(origin, request, stage.signal)) as { totalDocs: number; items: Summary[] }
  return { total: totalDocs, ids: items.map(({ id }) => id) }
}

async function askElasticsearch({ stage }: Measuring): Promise<Page> {
  const [search, count] = await Promise.all(
    rawRequests(stage.config.INDEX_PREFIX, limit, 'none').map((request) =>
      askJson(stage.urls.ELASTICSEARCH_URL, request, stage.signal),
    ),
  )
  return { total: (count as { count: number }).count, ids: idsOf(search as Found) }
}

async function askBareReader({ bareOrigin, stage }: Measuring): Promise<Page> {
  const { responses } = (await askJson(bareOrigin, bareRequest(limit), stage.signal)) as { responses: [Found, Found] }
  const [rows, count] = responses
  return { total: count.hits.total.value, ids: idsOf(rows) }
}

const idsOf = ({ hits }: Found): string[] => hits.hits.map(({ _source }) => _source.summary.id)

async function askPostgres(client: Client, queries: ReturnType<typeof pageQueries>): Promise<Page> {
  const [page, count] = await Promise.all(
    queries.map(({ text, values }) => client.query({ text, values: [...values] })),
  )
  const summaries = (page?.rows ?? []) as { summary: string }[]
  return {
    total: Number(count?.rows[0]?.count),
    ids: summaries.map(({ summary }) => (JSON.parse(summary) as Summary).id),
  }
}
