import { askJson } from '../askJson.ts'
import type { SqlAddress } from '../load/job.ts'
import { connected } from '../postgres.ts'
import type { Stage } from '../stage.ts'
import { askApi, type ServedTeam } from './api.ts'
import { plainList } from './plainIndex.ts'
import { sqlList } from './sqlTable.ts'

type List = { readonly total: number; readonly ids: readonly string[] }

/** Rejects unless everybody holds as many titles of a team as were made, and the same ones are newest. */
export async function expectSameLists(
  origin: string,
  team: ServedTeam,
  sql: SqlAddress | undefined,
  stage: Stage,
): Promise<void> {
  const newest = team.forms.slice(-20).reverse()
  const expected = { total: team.forms.length, ids: newest.map(({ id }) => id) }
  const { total, items } = await askApi(origin, team, {}, stage)
  expectSame(`the API, ${team.name}`, { total, ids: items.map(({ id }) => id) }, expected)
  expectSame(`the plain index, ${team.name}`, await plainListOf(team, stage), expected)
  if (sql !== undefined) expectSame(`PostgreSQL, ${team.name}`, await sqlListOf(team, sql), expected)
}

function expectSame(name: string, found: List, expected: List): void {
  if (found.total !== expected.total || found.ids.join() !== expected.ids.join())
    throw new Error(`${name}: not the list that was stored`)
}

async function plainListOf({ id }: ServedTeam, { urls, signal }: Stage): Promise<List> {
  const { hits } = (await askJson(urls.ELASTICSEARCH_URL, plainList(id), signal)) as {
    hits: { total: { value: number }; hits: { _source: { form: { id: string } } }[] }
  }
  return { total: hits.total.value, ids: hits.hits.map(({ _source }) => _source.form.id) }
}

async function sqlListOf({ id }: ServedTeam, address: SqlAddress): Promise<List> {
  const { text, values } = sqlList(id)
  const { rows } = await connected(address, (client) =>
    client.query<{ id: string; total: string }>({ text, values: [...values] }),
  )
  return { total: Number(rows[0]?.total), ids: rows.map((row) => row.id) }
}
