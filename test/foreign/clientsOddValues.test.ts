import { isUtf8 } from 'node:buffer'
import { resolve } from 'node:path'
import { Tidemark } from '../../clients/typescript/src/index.ts'
import { oddHistory } from '../support/oddHistory.ts'
import { fold, type HistoryRecord, type Json, stateRecord } from '../support/randomHistory.ts'
import { readExactly } from '../support/readExactly.ts'
import { servedForm, servedFormSummary, servedSubmission, servedSubmissionSummary } from '../support/served.ts'
import { describePython } from './support/python.ts'
import { usePythonPipeline } from './support/usePythonPipeline.ts'
import { manyDigitsRecord } from './support/warehouse.ts'

const team = 'acme'
const longText = '漢字 🎓 long '.repeat(20_000)
const history = oddHistory(62, 400)
// The only answer to its question: a column with gaps.
const onlyAnswer = manyDigitsRecord(team, 'only', '{"once":9007199254740993}')
const records: readonly HistoryRecord[] = [
  ...history.records,
  stateRecord('submissions', `${team}/long`, 1, { data: { q: longText } }),
  { topic: 'submissions', key: Buffer.from(onlyAnswer.key), value: Buffer.from(onlyAnswer.value) },
]

const served = {
  'forms summary': ['forms', servedFormSummary],
  'forms full': ['forms', servedForm],
  'records summary': ['submissions', servedSubmissionSummary],
  'records full': ['submissions', servedSubmission],
} as const
type Served = keyof typeof served
const kinds = Object.keys(served) as Served[]

const byId = (rows: readonly Json[]): Json[] => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))

/** What a copy must hold after records, in the order of ids. */
function truth(kind: Served, known: readonly HistoryRecord[]): Json[] {
  const [topic, serve] = served[kind]
  const own = [...fold(known, topic)].filter(([key]) => key.startsWith(`${team}/`))
  return byId(own.map(([, entity]) => serve(entity)))
}

/** The rows of a copy without what tells how they came. */
const entitiesOf = (rows: readonly Json[]): Json[] => byId(rows.map(({ changedAt, deleted, ...row }) => row))

/** JSON as JavaScript holds it: numbers are doubles. Infinity, which JSON does not have, as a text of its own. */
const asDoubles = (value: unknown): string =>
  JSON.stringify(value, (_, each) => (Math.abs(each) === Number.POSITIVE_INFINITY ? `number ${each}` : each))

const { tools, pipeline, api } = usePythonPipeline()

describePython('A copy of every value that the contract allows', () => {
  beforeAll(async () => {
    await pipeline.createKeys(history.teams)
    await pipeline.produceHistory(records)
    await pipeline.untilApplied(api, team)
  })

  test('is exact by the Python client, and by the data frame of pandas', async () => {
    const env = { TIDEMARK_URL: `${api.url}/api/v1`, TIDEMARK_KEY: pipeline.keyOf(team) }
    const modules = ['clients/python/src', 'connectors/snippets'].map((path) => resolve(path)).join(':')
    const script = 'test/foreign/python/copy_with_tidemark_client.py'
    const said = await tools.runScript(script, [], { ...env, PYTHONPATH: modules })
    const copies = new Map<string, Json[]>(said.trim().split('\n').map(readExactly))
    for (const kind of kinds) {
      const expected = truth(kind, records)
      for (const way of ['follow', 'export'])
        expect({ [`${kind} ${way}`]: entitiesOf(copies.get(`${kind} ${way}`) ?? []) }).toEqual({
          [`${kind} ${way}`]: expected,
        })
    }
    expect(byId(copies.get('records pandas') ?? [])).toEqual(truth('records summary', records).map(dotted))
  })

  test('by the TypeScript client has every value that JavaScript can represent', async () => {
    const tidemark = new Tidemark({ baseUrl: `${api.url}/api/v1`, accountKey: pipeline.keyOf(team) })
    const asRead = records.map(({ value, ...record }) => ({ ...record, value: value && withDoubles(value) }))
    for (const kind of kinds) {
      const [list, view] = kind.split(' ') as ['forms' | 'records', 'summary' | 'full']
      const copy = await followed(tidemark, list, view)
      const stream = list === 'forms' ? tidemark.forms.export({ view }) : tidemark.records.export({ view })
      const exported: Json[] = []
      for await (const row of stream) exported.push(row)
      const expected = truth(kind, asRead)
      expect(readExactly(asDoubles(entitiesOf(copy)))).toEqual(expected)
      expect(readExactly(asDoubles(entitiesOf(exported)))).toEqual(expected)
    }
  })
})

/** The rows of a copy that follows a list until it is complete. */
async function followed(tidemark: Tidemark, list: 'forms' | 'records', view: 'summary' | 'full'): Promise<Json[]> {
  const copy = new Map<string, Json>()
  for await (const { rows } of tidemark.follow(list, { view, limit: 50, once: true })) {
    for (const row of rows) {
      if (row.deleted) copy.delete(row.id)
      else copy.set(row.id, row)
    }
  }
  return [...copy.values()]
}

/** A record with the numbers that JavaScript makes of its own. */
function withDoubles(value: Buffer): Buffer {
  try {
    return isUtf8(value) ? Buffer.from(asDoubles(JSON.parse(value.toString()))) : value
  } catch {
    // No JSON: a dead letter, as one that is no UTF-8.
    return value
  }
}

/** A row of the data frame: columns with a dot for the members of objects; null is a missing value there. */
function dotted(row: Json): Json {
  const columns = Object.entries<Json>(row).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.entries<Json>(value).map(([inner, each]) => [`${name}.${inner}`, each] as const)
      : [[name, value] as const],
  )
  return Object.fromEntries(columns.filter(([, value]) => value !== null))
}
