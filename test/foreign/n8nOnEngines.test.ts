import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { seeded } from '../support/random.ts'
import { type Json, randomHistory, stateRecord } from '../support/randomHistory.ts'
import { type Credential, type Execution, execute, functionsFor, N8nProcess } from './support/n8nHost.ts'
import { type Classes, openN8nPackage } from './support/n8nPackage.ts'
import { listAfter, manyDigitsRecord } from './support/warehouse.ts'

const installDeadlineMs = 15 * 60_000
const team = 'acme'
const otherTeam = 'other'
const package_ = useStarted('the package', openN8nPackage, { patienceMs: installDeadlineMs })
const pipeline = usePipeline()
const history = randomHistory(11, 600)
beforeAll(() => pipeline.startIndexer())
const api = useStarted('the API', () => pipeline.startApi())

let classes: Classes
beforeAll(async () => {
  await pipeline.createKeys([...history.teams, otherTeam])
  expect(await package_.tool('build')).toContain('Build successful')
  classes = await package_.load()
}, installDeadlineMs)

const credentialOf = (name: string): Credential => ({ baseUrl: `${api.url}/api/v1`, apiKey: pipeline.keyOf(name) })
const byId = (rows: readonly Json[]): Json[] => rows.toSorted((a, b) => (a.id < b.id ? -1 : 1))
const idsOf = (rows: readonly Json[]): string[] => byId(rows).map(({ id }) => id)

/** A table that executions keep current: each upserts the rows of the first output, and removes those of the second. */
class Copy {
  readonly #rows = new Map<string, Json>()

  apply({ outputs: [changed = [], deleted = []] }: Execution): void {
    for (const { json } of changed) {
      const { changedAt, deleted: _isNot, ...row } = json
      this.#rows.set(row.id, row)
    }
    for (const { json } of deleted) this.#rows.delete(json.id)
  }

  rows(): Json[] {
    return byId([...this.#rows.values()])
  }

  equals(rows: readonly Json[]): boolean {
    return JSON.stringify(this.rows()) === JSON.stringify(rows)
  }
}

const resources = [
  ['submission', 'records', 'submissions'],
  ['form', 'forms', 'forms'],
] as const
test.each(resources)('a copy of each %s equals the list, though n8n is killed again and again', async (...names) => {
  const [resource, list, topic] = names
  const random = seeded(11)
  const database = { staticData: '{}' }
  const copy = new Copy()
  const records = history.records.filter((record) => record.topic === topic)
  const size = Math.ceil(records.length / 4)
  for (let from = 0; from < records.length; from += size) {
    await pipeline.produceHistory(records.slice(from, from + size))
    await pipeline.untilApplied(api, team)
    const expected = byId(
      await execute(classes, credentialOf(team), { resource, operation: 'getAll', returnAll: true }),
    )
    expect(idsOf(expected)).toEqual(idsOf(listAfter(records.slice(0, from + size), list, team)))
    for (let kills = 3; kills >= 0; kills -= 1) {
      const process = new N8nProcess(await package_.load(), database, credentialOf(team), { endsAtOnce: false })
      const options = { rowsPerExecution: 1 + random.below(30) }
      await process.activate({ resource, startFrom: 'beginning', options })
      const most = kills === 0 ? Number.POSITIVE_INFINITY : random.below(4)
      for (let ended = 0; ended < most && !copy.equals(expected); ended += 1) {
        await eventually(() => process.executions.length > ended)
        const execution = process.executions[ended]
        if (execution !== undefined) copy.apply(execution)
        execution?.end()
      }
      await process.kill()
    }
    expect(copy.rows()).toEqual(expected)
  }
})

describe('the node', () => {
  const level = (name: string, score: number): Json => ({ status: 'completed', level: name, score })
  const submissions = [
    ...Array.from({ length: 120 }, (_, at) => ({ id: `s${at}`, formId: 'f1', result: level('good', 80) })),
    { id: 'failed', formId: 'f2', data: { 'q.1': 'yes', q2: ['a', 'b'] }, result: level('fail', 20) },
  ]
  const ask = (parameters: Json): Promise<Json[]> =>
    execute(classes, credentialOf(otherTeam), { resource: 'submission', ...parameters })

  beforeAll(async () => {
    await pipeline.produceHistory([
      stateRecord('forms', `${otherTeam}/f1`, 1, { title: 'Product Knowledge' }),
      stateRecord('forms', `${otherTeam}/f2`, 1, { title: 'Geography' }),
      ...submissions.map(({ id, ...changes }) => stateRecord('submissions', `${otherTeam}/${id}`, 1, changes)),
    ])
    const data = '{"":"empty","long":12345678901234567890123,"beyond":1e400}'
    await pipeline.produce('submissions', [manyDigitsRecord(otherTeam, 'digits', data)])
    await pipeline.untilApplied(api, otherTeam)
  })

  test('gets many items: a page, more than a page, all, and whole ones with their reports', async () => {
    expect(await ask({ operation: 'getAll', limit: 5 })).toHaveLength(5)
    expect(await ask({ operation: 'getAll', limit: 110 })).toHaveLength(110)
    expect(await ask({ operation: 'getAll', returnAll: true })).toHaveLength(122)
    const [whole] = await ask({ operation: 'getAll', limit: 1, simplify: false, filters: { level: 'fail' } })
    expect(whole).toMatchObject({ id: 'failed', reportResult: { aiSuggestion: { content: 'Keep going' } } })
    const [form] = await ask({ resource: 'form', operation: 'getAll', filters: { titleContains: 'geogr' } })
    expect(form).toMatchObject({ id: 'f2', title: 'Geography' })
  })

  test('filters submissions, also by answers', async () => {
    const found = async (filters: Json): Promise<string[]> =>
      idsOf(await ask({ operation: 'getAll', filters, fields: 'id, result.score' }))
    expect(await found({ maxScore: 20, formId: { mode: 'list', value: 'f2' } })).toEqual(['failed'])
    const answer = (code: string, value: string): Json => ({ code, value })
    expect(await found({ answers: { answer: [answer('q.1', 'yes'), answer('q2', 'z'), answer('q2', 'b')] } })).toEqual([
      'failed',
    ])
    expect(await found({ answers: { answer: [answer('q.1', 'no')] } })).toEqual([])
    const [{ data }] = await ask({ operation: 'getAll', filters: { answers: { answer: [answer('', 'empty')] } } })
    expect(data).toEqual({ '': 'empty', long: '12345678901234567890123', beyond: '1e400' })
  })

  test('gets one item, simplified or whole', async () => {
    const [simple] = await ask({ operation: 'get', submissionId: 'failed' })
    expect(simple).toMatchObject({ id: 'failed', reportResult: { status: 'completed' } })
    expect(simple.reportResult.aiSuggestion).toBeUndefined()
    const [whole] = await ask({ operation: 'get', submissionId: 'failed', simplify: false })
    expect(whole.reportResult.aiSuggestion.content).toBe('Keep going')
    const form = { resource: 'form', operation: 'get', formId: { mode: 'id', value: 'f1' } }
    expect(await ask(form)).toEqual([expect.objectContaining({ title: 'Product Knowledge' })])
    const [{ fields }] = await ask({ ...form, simplify: false })
    expect(fields).toHaveLength(2)
  })

  test('counts submissions', async () => {
    const counting = { operation: 'count', time: 'none', value: 'level' }
    expect(await ask(counting)).toEqual([
      { key: 'good', count: 121 },
      { key: 'fail', count: 1 },
    ])
    const [day] = await ask({
      ...counting,
      time: 'day',
      filters: { level: 'fail' },
      options: { scores: true, timeZone: 'Europe/Berlin' },
    })
    expect(day).toMatchObject({ key: ['2026-04-01T00:00:00.000+02:00', 'fail'], scores: { mean: 20 } })
    const [answer] = await ask({
      ...counting,
      value: 'answer',
      code: 'q2',
      simplify: false,
      filters: { level: 'fail' },
    })
    expect(answer).toMatchObject({ totalDocs: 1, by: 'answer' })
  })

  test('shows the reason when the API refuses a request', async () => {
    await expect(ask({ operation: 'getAll', filters: { status: '' } })).rejects.toThrow(
      'Tidemark refuses a parameter: status',
    )
    await expect(ask({ operation: 'getAll', fields: 'nothing', returnAll: true })).rejects.toThrow(
      'refuses a parameter: fields',
    )
    await expect(ask({ operation: 'get', submissionId: 'none' })).rejects.toThrow('Not found')
    const unknown = { ...credentialOf(otherTeam), apiKey: 'rqp_acct_unknown' }
    const refused = execute(classes, unknown, { resource: 'form', operation: 'getAll' })
    await expect(refused).rejects.toThrow('The account key is refused')
  })

  test('finds forms by their titles for the editor', async () => {
    const { searchForms } = new classes.Tidemark().methods.listSearch
    const found = await searchForms.call(functionsFor(classes, credentialOf(otherTeam), {}), 'prod')
    expect(found).toEqual({ results: [{ name: 'Product Knowledge', value: 'f1' }] })
  })
})
