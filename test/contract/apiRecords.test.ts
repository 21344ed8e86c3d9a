import type { TestAnswer } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import type { TestRecord } from '../support/replica.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const otherTeam = 'team-2'
const statuses = ['pending', 'processing', 'completed', 'failed']

const submission = (id: string, submittedAt: string, changes: object = {}): TestRecord => ({
  team,
  id,
  entity: submissionEntity({ id, submittedAt, updatedAt: '2026-11-20T00:00:00Z', ...changes }),
})
const api = useApi({
  submissions: [
    ...statuses.map((status, index) =>
      submission(status, `2026-06-0${index + 1}T00:00:00Z`, { formId: 'form-2', result: { status } }),
    ),
    submission('before-midnight', '2026-05-01T23:59:59.999Z'),
    submission('noon', '2026-05-01T12:00:00.500Z'),
    submission('midnight', '2026-05-01T00:00:00.000Z'),
    submission('day-before', '2026-04-30T23:59:59.999Z'),
    submission('same-b', '2026-01-01T00:00:00Z'),
    submission('same-c', '2026-01-01T00:00:00Z'),
    submission('same-a', '2026-01-01T00:00:00Z'),
    { team: otherTeam, id: 'foreign', entity: submissionEntity({ id: 'foreign', formId: 'form-9' }) },
    { team, id: 'deleted', entity: null },
  ],
})

const get = (target: string): Promise<TestAnswer> => api.get(`/api/v1${target}`)

const ids = async (query: string): Promise<string[]> => {
  const { status, json } = await get(`/records${query}`)
  expect(status).toBe(200)
  const { items, totalDocs } = json as { items: { id: string }[]; totalDocs: number }
  expect(totalDocs).toBe(items.length)
  return items.map(({ id }) => id)
}

const may = ['before-midnight', 'noon', 'midnight']
const newestFirst = ['failed', 'completed', 'processing', 'pending', ...may, 'day-before', 'same-c', 'same-b', 'same-a']

describe('GET /api/v1/records', () => {
  test('lists submissions of the whole team, newest first, then by id descending', async () => {
    expect(await ids('')).toEqual(newestFirst)
  })

  test('limit defaults to 20 and page to 1; limit may be 100', async () => {
    expect((await get('/records')).json).toMatchObject({ limit: 20, page: 1 })
    expect((await get('/records?limit=100')).json).toMatchObject({ limit: 100 })
  })

  test('pages hold every submission once, in order, each with the whole total', async () => {
    const seen: string[] = []
    for (const page of [1, 2, 3]) {
      const { json } = await get(`/records?limit=4&page=${page}`)
      expect(json).toMatchObject({ totalDocs: 11, page, limit: 4 })
      seen.push(...(json as { items: { id: string }[] }).items.map(({ id }) => id))
    }
    expect(seen).toEqual(newestFirst)
  })

  test('a page past the last one is empty with the true total', async () => {
    const { status, json } = await get('/records?page=4611686018427387&limit=100')
    expect(status).toBe(200)
    expect(json).toEqual({ totalDocs: 11, page: 4611686018427387, limit: 100, items: [] })
  })

  test('formId filters', async () => {
    expect(await ids('?formId=form-2')).toEqual(['failed', 'completed', 'processing', 'pending'])
  })

  test.each(['unknown', 'form-9', 'no%20id', 'a/b', 'x'.repeat(500)])(
    "formId=%s, unknown, another team's or malformed, gives an empty list",
    async (formId) => {
      expect(await ids(`?formId=${formId}`)).toEqual([])
    },
  )

  test.each(statuses)('status=%s filters by report status', async (status) => {
    expect(await ids(`?status=${status}&formId=form-2`)).toEqual([status])
  })

  test.each([
    ['since is inclusive', 'since=2026-05-01T23:59:59.999Z&until=2026-05-31', ['before-midnight']],
    ['until is inclusive', 'since=2026-05-01&until=2026-05-01T00:00:00.000Z', ['midnight']],
    ['a bare date is the whole day', 'since=2026-05-01&until=2026-05-01', may],
    ['without an offset it is UTC', 'since=2026-05-01T12:00:00.500&until=2026-05-01T12:00:00.500', ['noon']],
    ['seconds are optional', 'since=2026-05-01T12:00&until=2026-05-01T12:01', ['noon']],
    ['an offset counts', 'since=2026-05-01T14:00:00.500%2B02:00&until=2026-05-01T14:00:00.500%2B0200', ['noon']],
    ['a + that arrived as a space is read', 'since=2026-05-01T14:00:00.5+02:00&until=2026-05-01T14:00:01+02', ['noon']],
    ['finer digits move since up', 'since=2026-05-01T12:00:00.5001Z&until=2026-05-01', ['before-midnight']],
    ['finer digits move until down', 'since=2026-05-01&until=2026-05-01T12:00:00.5009Z', ['noon', 'midnight']],
    ['since after until is empty', 'since=2026-05-02&until=2026-05-01', []],
    ['since in the future is empty', 'since=9998-01-01', []],
    ['since acts on the created, not the updated time', 'since=2026-11-01', []],
    ['filters combine', 'since=2026-06-01&until=2026-06-03&formId=form-2&status=pending', ['pending']],
  ])('%s', async (_rule, query, expected) => {
    expect(await ids(`?${query}`)).toEqual(expected)
  })

  test('a window may begin and end in any year', async () => {
    expect(await ids('?since=0000-01-01&until=9999-12-31')).toEqual(newestFirst)
  })
})

describe('GET /api/v1/records/{id}', () => {
  test('returns one submission', async () => {
    const { status, json } = await get('/records/noon')
    expect(status).toBe(200)
    expect(json).toMatchObject({ id: 'noon', submittedAt: '2026-05-01T12:00:00.500Z' })
  })

  test.each([
    ['does not exist', 'unknown'],
    ["is another team's", 'foreign'],
    ['was deleted', 'deleted'],
    ['has a malformed id', 'a%20b'],
    ['has broken percent-encoding in its id', '%ZZ'],
  ])('a submission that %s gives 404, all alike', async (_why, id) => {
    const { status, text } = await get(`/records/${id}`)
    expect(status).toBe(404)
    expect(text).toBe('{"error":{"code":"not_found","message":"no such record"}}')
  })
})
