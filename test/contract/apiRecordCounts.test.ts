import { useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'

type Counts = { readonly totalDocs: number; readonly by: string; readonly items: { key: unknown; count: number }[] }

const endpoint = '/api/v1/record-counts'
const watermark = '2026-11-21T10:00:00.123Z'
const submission = (team: string, id: string, submittedAt: string, more: object = {}) => ({
  team,
  id,
  entity: submissionEntity({ id, submittedAt, ...more }),
})

const team = 'team-1'
const deleted = { team, id: 'deleted' }
/** Their counts are longer than those of nearly all questions. */
const longAnswers = Array.from({ length: 6_000 }, (_, at) => `${'漢'.repeat(250)}${1_000 + at}`)
const api = useApi({
  teams: [team, 'empty', 'edge', 'long-ago', 'months', 'scored', 'wordy'],
  submissions: [
    submission(team, 's1', '2026-11-20T23:30:00Z', { formId: 'f1', result: { status: 'completed' } }),
    submission(team, 's2', '2026-11-20T23:59:59.999Z', { formId: 'f1', result: { status: 'pending' } }),
    submission(team, 's3', '2026-11-23T00:00:00Z', { formId: 'f0', result: { status: 'failed' } }),
    submission(team, 's4', '2026-11-23T12:00:00Z', { formId: 'a', result: { status: 'completed' } }),
    submission(team, 'deleted', '2020-01-01T00:00:00Z', { formId: 'gone' }),
    { ...deleted, revision: 2, entity: null },
    submission('edge', 'first', '2025-01-01T00:00:00Z'),
    submission('edge', 'last', '2026-02-21T15:59:59.999Z'),
    submission('edge', 'later', '2026-02-21T16:00:00Z'),
    submission('edge', 'first-year', '0000-01-01T00:00:00Z'),
    submission('edge', 'last-year', '9999-12-31T23:59:59.999Z'),
    submission('months', 'first', '2026-01-01T00:00:00Z'),
    submission('months', 'last', '2026-01-31T23:59:59.999Z'),
    ...longAnswers.map((text, at) => submission('wordy', `s${at}`, '2026-11-20T10:00:00Z', { data: { open: text } })),
    ...Array.from({ length: 300 }, (_, at) => submission('long-ago', `s${at}`, '2006-10-29T02:31:00Z')),
  ],
  watermark,
})
const count = (query: string, of = team): Promise<Counts> =>
  api.read<Counts>(`${endpoint}?${query}`, { key: api.keyOf(of) })
const entries = async (query: string, of = team): Promise<[unknown, number][]> =>
  (await count(query, of)).items.map(({ key, count }) => [key, count])
const refusal = async (query: string, of = team): Promise<string> => {
  const { status, json } = await api.get(`${endpoint}?${query}`, { key: api.keyOf(of) })
  const { error } = json as { error: { code: string; message: string } }
  expect([status, error.code]).toEqual([400, 'bad_request'])
  return error.message
}

test.each(['hour', 'day', 'month', 'form', 'status', 'level', 'day,outcome'])(
  'no submissions, counted by %s, are an empty list',
  async (by) => {
    const nothing = { totalDocs: 0, by, items: [] }
    expect(await count(`by=${by}`, 'empty')).toEqual(nothing)
    expect(await count(`by=${by}&since=2026-11-22&until=2026-11-21`)).toEqual(nothing)
    expect(await count(`by=${by}&formId=gone`)).toEqual(nothing)
    expect(await count(`by=${by}&since=9999-12-31T23:59:59.9999Z`)).toEqual(nothing)
  },
)

test('counts of many long answers are complete', async () => {
  expect(await entries('by=answer&code=open', 'wordy')).toEqual(longAnswers.map((text) => [text, 1]))
})

test('submissions of one hour long ago are counted under that hour', async () => {
  expect(await entries('by=hour', 'long-ago')).toEqual([['2006-10-29T02:00:00.000+00:00', 300]])
})

test.each([
  ['2026-01-01', 1],
  ['2026-01-03', 1],
  ['2026-01-30', 1],
  ['2026-01-31', 2],
])('a month of 31 days is counted whichever day `until` names: %s', async (until, count) => {
  const january = '2026-01-01T00:00:00.000+00:00'
  expect(await entries(`by=month&until=${until}`, 'months')).toEqual([[january, count]])
  expect(await entries(`by=month,status&until=${until}`, 'months')).toEqual([[[january, 'completed'], count]])
})

test('10,000 counts are answered, and 10,001 are refused with a message that names their number', async () => {
  const { items } = await count('by=hour&since=2025-01-01&until=2026-02-21T15:59:59.999Z', 'edge')
  expect([items.length, items[0]?.count, items.at(-1)?.count]).toEqual([10_000, 1, 1])
  const [expected, windows] = [
    'by=hour makes 10001 items of at most 10000: narrow since and until',
    ['since=2025-01-01&until=2026-03-01', 'since=2025-01-01&until=2026-02-21T16:00:00Z'],
  ]
  for (const window of windows) expect(await refusal(`by=hour&${window}`, 'edge')).toBe(expected)
})

test('counts span the years 0 to 9999, and too many are refused with a message that names about how many', async () => {
  expect(await refusal('by=day', 'edge')).toContain('makes about 3652425 items')
  expect(await refusal('by=month&timeZone=Asia/Tokyo', 'edge')).toContain('makes about 120000 items')
  expect(await entries('by=month&timeZone=America/New_York&since=9999', 'edge').catch(() => 'no date')).toBe('no date')
  expect(await entries('by=day&since=9999-01-01', 'edge')).toEqual([['9999-12-31T00:00:00.000+00:00', 1]])
  expect(await entries('by=day&until=0000-01-01', 'edge')).toEqual([['0000-01-01T00:00:00.000+00:00', 1]])
})

test('mean scores are exact', async () => {
  const tenths = [0.1, 0.1, 0.1].map((score, at) =>
    submission('scored', `s${at}`, '2026-11-20T12:00:00Z', { result: { status: 'completed', score } }),
  )
  await api.replica.storeSubmissions(...tenths)
  expect((await count('by=status&scores=true', 'scored')).items).toEqual([
    { key: 'completed', count: 3, scores: { count: 3, min: 0.1, max: 0.1, mean: 0.1 } },
  ])
})

test('timeZone=UTC is accepted also for counts that are not by time', async () => {
  for (const by of ['form', 'status']) expect(await count(`by=${by}&timeZone=UTC`)).toEqual(await count(`by=${by}`))
})
