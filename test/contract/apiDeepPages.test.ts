import type { TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { teamList } from '../../src/core/model/teamList.ts'
import { submissionEntity } from '../support/entities.ts'
import { type Random, seeded } from '../support/random.ts'
import { useApi } from '../support/useApi.ts'

type Row = { readonly id: string; readonly submittedAt: string; readonly formId: string; readonly status: string }

const statuses = ['pending', 'processing', 'completed', 'failed']
const count = 700

/** Many of one millisecond, many of one second, some of one day, and a few of years far away. */
const someInstant = (random: Random): string => {
  const kind = random.below(10)
  if (kind < 4) return '2026-03-01T10:00:00.000Z'
  if (kind < 6) return `2026-03-01T10:00:00.${100 + random.below(900)}Z`
  if (kind < 8) return `2026-03-01T1${random.below(10)}:30:${10 + random.below(50)}.000Z`
  if (kind < 9) return `202${random.below(7)}-0${1 + random.below(9)}-1${random.below(10)}T00:00:00.000Z`
  return random.pick(['0001-01-01T00:00:00.000Z', '1969-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'])
}
const random = seeded(71)
const rows = Array.from(
  { length: count },
  (_, at): Row => ({
    id: random.pick([`s${at}`, `s-${at}`, `S.${at}`, `s${at}:x`, `_${at}`]),
    submittedAt: someInstant(random),
    formId: `f${random.below(3)}`,
    status: random.pick(statuses),
  }),
)
const byPosition = (a: Row, b: Row): number => {
  const [one, other] = [a, b].map(({ submittedAt, id }) => `${submittedAt}|${id}`) as [string, string]
  return one < other ? 1 : -1
}

const api = useApi({
  teams: ['team-1', 'team-2'],
  submissions: [
    ...rows.map((row) => ({
      team: 'team-1',
      id: row.id,
      entity: submissionEntity({ ...row, result: { status: row.status } }),
    })),
    ...rows.slice(0, 50).map((row) => ({ team: 'team-2', id: row.id, entity: submissionEntity({ ...row }) })),
  ],
  settings: { DEEP_PAGE_FROM: '1' },
})

const filters: [string, (row: Row) => boolean][] = [
  ['', () => true],
  ['formId=f1', ({ formId }) => formId === 'f1'],
  ['status=completed', ({ status }) => status === 'completed'],
  ['formId=f2&status=failed', ({ formId, status }) => formId === 'f2' && status === 'failed'],
  [
    'since=2026-03-01T10:00:00Z&until=2026-03-01T10:00:00Z',
    ({ submittedAt }) => submittedAt === '2026-03-01T10:00:00.000Z',
  ],
  ['until=1970-01-01', ({ submittedAt }) => submittedAt < '1970-01-02'],
  ['formId=none', () => false],
]

test('every page of every filter, however deep, holds the rows that stand there, and the exact total', async () => {
  for (let each = 0; each < 150; each++) {
    const [filter, matches] = random.pick(filters)
    const expected = rows.filter(matches).sort(byPosition)
    const limit = 1 + random.below(100)
    const page = 1 + random.below(Math.ceil(expected.length / limit) + 2)
    const { status, json } = await api.get(`/api/v1/records?${filter}&limit=${limit}&page=${page}`)
    const { totalDocs, items } = json as { totalDocs: number; items: { id: string }[] }
    expect({ filter, limit, page, status, totalDocs, ids: items.map(({ id }) => id) }).toEqual({
      filter,
      limit,
      page,
      status: 200,
      totalDocs: expected.length,
      ids: expected.slice((page - 1) * limit, page * limit).map(({ id }) => id),
    })
  }
})

test('a page beyond all counting is empty, with the true total', async () => {
  const { status, json } = await api.get(`/api/v1/records?limit=100&page=${Number.MAX_SAFE_INTEGER}`)
  expect([status, json]).toEqual([200, { totalDocs: count, page: Number.MAX_SAFE_INTEGER, limit: 100, items: [] }])
})

test('while a change is pending, pages near the top and deep ones show the same list, from every process', async () => {
  const list = teamList('submissions', 'team-2' as TeamId)
  await api.replica.publishWatermark('2026-11-21T10:00:00.000Z' as Instant)
  const processes = [await api.startAnother(), await api.startAnother({ DEEP_PAGE_FROM: '10000' })]
  const totals = (): Promise<unknown[]> =>
    Promise.all(
      [...processes, api].map(async ({ send }) => {
        const { json } = await send('/api/v1/records?limit=20&page=2', { key: api.keyOf('team-2') })
        return (json as { totalDocs: number }).totalDocs
      }),
    )
  expect(await totals()).toEqual([50, 50, 50])
  await api.replica.setPending(list, true)
  await api.replica.storeSubmissions({ team: 'team-2', id: 'pending', entity: submissionEntity({ id: 'pending' }) })
  expect(await totals()).toEqual([51, 51, 51])
  await api.replica.replaceChangeToken(list)
  await api.replica.setPending(list, false)
  expect(await totals()).toEqual([51, 51, 51])
  await api.replica.publishWatermark(null)
  await Promise.all(processes.map(({ close }) => close()))
})
