import { createAccountKey } from '../demo/accountKeys.ts'
import { waitUntil } from '../engines/waiting.ts'
import { startLoadGenerator } from './load/generator.ts'
import type { SqlAddress } from './load/job.ts'
import { measure } from './measuring.ts'
import { postgresVersion, startPostgres } from './postgres.ts'
import { startProcesses } from './processes.ts'
import type { Counts, Results } from './results.ts'
import { about, type SqlState } from './search/about.ts'
import { askApi, type ServedTeam } from './search/api.ts'
import { compareSearches, type SearchedTeam } from './search/comparisons.ts'
import { createForms, type SampleForms, type SampleTeam, type Size } from './search/forms.ts'
import { choosePools } from './search/pools.ts'
import { countRecall } from './search/recall.ts'
import { expectSameLists } from './search/sameLists.ts'
import { fillTable } from './search/sqlTable.ts'
import { type BytesPerForm, storeForms } from './search/store.ts'
import type { Stage } from './stage.ts'

const fullSize: Size = { forms: 1_000_000, teams: 5_000 }
const servingDeadlineMs = 60_000

/** Measures title search for a small and for the largest team: beside their lists, a plain index, and PostgreSQL. */
export async function benchSearch(stage: Stage, size: Size = fullSize): Promise<Results> {
  const forms = createForms(size)
  const { origin } = await startProcesses(stage)
  const small = await serve('Small team', forms.smallTeam, forms, origin, stage)
  const largest = await serve('Largest team', forms.largestTeam, forms, origin, stage)
  const bytes = await storeForms(stage, forms)
  const { sql, state } = await startTable(stage, forms)
  for (const team of [small, largest]) await expectSameLists(origin, team, sql, stage)

  const searched: SearchedTeam[] = [
    { team: small, pools: await choosePools(origin, small, stage), mostLists: 2 },
    { team: largest, pools: await choosePools(origin, largest, stage), mostLists: 4 },
  ]
  const recall = await countRecall(origin, searched, sql, stage)
  const generator = startLoadGenerator()
  stage.release(() => generator.close())
  const comparison = compareSearches({ origin, generator, stage }, searched, sql)
  return {
    title: 'Title search through the API',
    about: about(forms, state),
    versions: [...stage.versions, ...(sql === undefined ? [] : [await postgresVersion(sql)])],
    sections: comparison.sections,
    samples: await measure('Measuring', comparison),
    counts: [sizes(bytes), recall],
  }
}

/** Gives a team a key, and waits until the API answers it. */
async function serve(
  label: string,
  { id, forms: count }: SampleTeam,
  forms: SampleForms,
  origin: string,
  stage: Stage,
): Promise<ServedTeam> {
  const accountKey = await createAccountKey(id, stage.environment, stage.signal)
  const name = `${label}, ${count.toLocaleString('en')} titles`
  const team: ServedTeam = { name, id, accountKey, forms: [...forms.ofTeam(id)] }
  const answers = (): Promise<boolean> =>
    askApi(origin, team, {}, stage).then(
      () => true,
      () => false,
    )
  if (await waitUntil(answers, { deadlineMs: servingDeadlineMs, signal: stage.signal })) return team
  throw new Error(`The API does not answer within ${servingDeadlineMs / 1_000} s`)
}

async function startTable(stage: Stage, forms: SampleForms): Promise<{ sql: SqlAddress | undefined; state: SqlState }> {
  const sql = await startPostgres(stage)
  if (sql === undefined) return { sql, state: 'no PostgreSQL' }
  const isFilled = await fillTable(sql, forms, stage.signal)
  return isFilled ? { sql, state: 'measured' } : { sql: undefined, state: 'no pg_trgm' }
}

const sizes = ({ replica, plain }: BytesPerForm): Counts => ({
  title: 'Size of a list document on disk',
  header: ['', 'bytes'],
  rows: [
    ['replica', String(replica)],
    ['plain index', String(plain)],
  ],
})
