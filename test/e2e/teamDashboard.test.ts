import { useApi } from '../support/api.ts'
import { type InfinityTarget, readDashboard } from '../support/dashboards.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'

const team = 'team-1'
/** What Grafana puts in for its own variables. */
const variables: Readonly<Record<string, string>> = {
  '${__from:date:iso}': '2026-11-01T00:00:00.000Z',
  '${__to:date:iso}': '2026-11-30T23:59:59.999Z',
  '${__timezone}': 'Europe/Berlin',
}
const submissions = [
  { id: 's-1', formId: 'form-1', submittedAt: '2026-11-19T23:30:00.000Z' },
  { id: 's-2', formId: 'form-1', submittedAt: '2026-11-20T12:00:00.000Z' },
  {
    id: 's-3',
    formId: 'form-2',
    submittedAt: '2026-11-22T08:00:00.000Z',
    result: { status: 'pending' },
    metadata: null,
  },
  { id: 'too-early', formId: 'form-1', submittedAt: '2026-10-31T12:00:00.000Z' },
]

const api = useApi({
  teams: [team],
  forms: ['form-1', 'form-2', 'form-3'].map((id) => ({ team, id, entity: formEntity({ id, title: `Quiz ${id}` }) })),
  submissions: submissions.map((changes) => ({ team, id: changes.id, entity: submissionEntity(changes) })),
  watermark: '2026-11-23T10:00:00.000Z',
})
const panels = readDashboard<InfinityTarget>('team').panels

type Row = Readonly<Record<string, unknown>>

const valueAt = (from: unknown, path: string): unknown =>
  path === '' ? from : path.split('.').reduce((value, name) => (value as Row | null)?.[name], from)

/** The rows of a query, as Infinity makes them: an object is one row. */
async function rowsOf({ url, url_options: { params }, root_selector: root, columns }: InfinityTarget): Promise<Row[]> {
  const sent = new URLSearchParams(Object.fromEntries(params.map(({ key, value }) => [key, variables[value] ?? value])))
  const { status, headers, json } = await api.get(`/api/v1${url}?${sent}`)
  expect([status, headers['ignored-parameters']]).toEqual([200, undefined])
  const rows = [valueAt(json, root)].flat()
  return rows.map((row) => Object.fromEntries(columns.map(({ selector, text }) => [text, valueAt(row, selector)])))
}

const isA = {
  string: (value: unknown) => typeof value === 'string',
  number: (value: unknown) => typeof value === 'number',
  boolean: (value: unknown) => typeof value === 'boolean',
  timestamp: (value: unknown) => typeof value === 'string' && !Number.isNaN(Date.parse(value)),
}

const queryOf = (title: string, refId = 'A'): InfinityTarget => {
  const target = panels.find((panel) => panel.title === title)?.targets?.find((each) => each.refId === refId)
  if (target === undefined) throw new Error(`${title} has no query ${refId}`)
  return target
}

test.each(
  panels.flatMap(({ title, targets = [] }) => targets.map((target) => [`${title}, ${target.refId}`, target] as const)),
)('%s: every column is there, with its type', async (_, target) => {
  const rows = await rowsOf(target)
  expect(rows.length).toBeGreaterThan(0)
  for (const { text, type } of target.columns) {
    const values = rows.map((row) => row[text]).filter((value) => value !== null)
    expect([text, values.length > 0, values.every(isA[type])]).toEqual([text, true, true])
  }
})

test('the panels show the submissions of the selected time, on the days of its time zone', async () => {
  expect(await rowsOf(queryOf('Submissions'))).toEqual([{ submissions: 3 }])
  expect(await rowsOf(queryOf('Reports still pending'))).toEqual([{ pending: 1 }])
  expect(await rowsOf(queryOf('Reports by status'))).toEqual([
    { status: 'completed', submissions: 2 },
    { status: 'pending', submissions: 1 },
  ])
  expect(await rowsOf(queryOf('Submissions a day'))).toEqual([
    { time: '2026-11-20T00:00:00.000+01:00', submissions: 2 },
    { time: '2026-11-21T00:00:00.000+01:00', submissions: 0 },
    { time: '2026-11-22T00:00:00.000+01:00', submissions: 1 },
  ])
  expect((await rowsOf(queryOf('Newest submissions'))).map(({ submitted }) => submitted)).toEqual([
    '2026-11-22T08:00:00.000Z',
    '2026-11-20T12:00:00.000Z',
    '2026-11-19T23:30:00.000Z',
  ])
})

test('levels and campaigns have the scores of their submissions', async () => {
  const scores = { 'mean score': 80, lowest: 80, highest: 80 }
  const none = { submissions: 1, 'mean score': null, lowest: null, highest: null }
  expect(await rowsOf(queryOf('Levels and their scores'))).toEqual([
    { level: 'good', submissions: 2, ...scores },
    { level: null, ...none },
  ])
  expect(await rowsOf(queryOf('Campaigns and their scores'))).toEqual([
    { campaign: 'spring', submissions: 2, ...scores },
    { campaign: null, ...none },
  ])
})

test('counts by form can be joined with titles of forms by id', async () => {
  const counts = await rowsOf(queryOf('Submissions by form'))
  const titles = new Map((await rowsOf(queryOf('Submissions by form', 'B'))).map(({ id, title }) => [id, title]))
  expect(counts.map(({ id, submissions: count }) => [titles.get(id), count])).toEqual([
    ['Quiz form-1', 2],
    ['Quiz form-2', 1],
  ])
})
