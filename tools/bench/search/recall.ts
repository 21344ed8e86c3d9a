import type { Client } from 'pg'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { askJson } from '../askJson.ts'
import type { SqlAddress } from '../load/job.ts'
import { connected } from '../postgres.ts'
import type { Counts } from '../results.ts'
import type { Stage } from '../stage.ts'
import { askApi, type ServedTeam } from './api.ts'
import type { SearchedTeam } from './comparisons.ts'
import { plainSearchOne } from './plainIndex.ts'
import { wayOf } from './pools.ts'
import { sqlSimilarOne } from './sqlTable.ts'
import { holds, misspeltKinds, type TypedText } from './typed.ts'

type Finder = (text: TypedText, team: ServedTeam) => Promise<boolean>
type Finders = readonly (readonly [name: string, finds: Finder])[]

/** So many texts of a kind are tried, as they were made: also those that find something else as they stand. */
export const triedEach = 100

/** How often a misspelt text finds the title it was made from, anywhere among its rows. */
export async function countRecall(
  origin: string,
  searched: readonly SearchedTeam[],
  sql: SqlAddress | undefined,
  stage: Stage,
): Promise<Counts> {
  const others: Finders = [
    ['API', inApi(origin, stage)],
    ['plain index', inPlainIndex(stage)],
  ]
  if (sql === undefined) return await countFound(others, searched)
  return await connected(sql, (client) => countFound([...others, ['PostgreSQL', inPostgres(client)]], searched))
}

async function countFound(finders: Finders, searched: readonly SearchedTeam[]): Promise<Counts> {
  const columns = searched.flatMap(({ team, pools }) =>
    misspeltKinds.map((kind) => ({ team, kind, texts: (pools.get(kind)?.made ?? []).slice(0, triedEach) })),
  )
  const bar = startProgressBar('Looking for titles by misspelt texts', finders.length * columns.length, process.stdout)
  const rows: string[][] = []
  try {
    for (const [name, finds] of finders) {
      const row = [name]
      for (const [at, { team, texts }] of columns.entries()) {
        let found = 0
        for (const text of texts) if (await finds(text, team)) found += 1
        row.push(`${found} of ${texts.length}`)
        bar.reach(rows.length * columns.length + at + 1)
      }
      rows.push(row)
    }
  } finally {
    bar.end()
  }
  return {
    title: 'Misspelt texts that find the title they were made from',
    header: ['', ...columns.map(({ team, kind }) => `${team.name}: ${kind}`)],
    rows,
  }
}

/** A search that finds titles as typed shows no others; within the moment of one form it cannot know of those. */
const inApi =
  (origin: string, stage: Stage): Finder =>
  async ({ typed, source }, team) => {
    const { items } = await askApi(origin, team, { typed }, stage)
    const titles = items.map(({ title }) => title)
    if (wayOf(titles, typed) !== 'similar' && !holds(source.title.text, typed)) return false
    return (await askApi(origin, team, { typed, changedAt: source.createdAt }, stage)).total > 0
  }

const inPlainIndex =
  ({ urls, signal }: Stage): Finder =>
  async ({ typed, source }) => {
    const answer = await askJson(urls.ELASTICSEARCH_URL, plainSearchOne(source, typed), signal)
    return (answer as { hits: { total: { value: number } } }).hits.total.value > 0
  }

const inPostgres =
  (client: Client): Finder =>
  async ({ typed, source }) => {
    const { text, values } = sqlSimilarOne(source, typed)
    const { rows } = await client.query({ text, values: [...values] })
    return rows.length > 0
  }
