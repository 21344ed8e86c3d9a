import type { TestAnswer } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { useApi } from '../support/useApi.ts'

const [team, otherTeam] = ['team-1', 'team-2']

const api = useApi({
  teams: [team, otherTeam],
  forms: [
    ...['parts', 'A.b_c:d-9'].map((id) => ({ team, id, entity: formEntity({ id }) })),
    { team: otherTeam, id: 'foreign', entity: formEntity({ id: 'foreign' }) },
    { team, id: 'deleted', entity: null },
  ],
  submissions: [
    { team: otherTeam, id: 'foreign', entity: submissionEntity({ id: 'foreign' }) },
    { team, id: 'deleted', entity: null },
  ],
})

const get = (target: string): Promise<TestAnswer> => api.get(`/api/v1${target}`)

test.each(['2', '501', '10001', '21474836', '21474837', String(Number.MAX_SAFE_INTEGER)])(
  'page %s, past the last one, is empty with the true total',
  async (page) => {
    const { status, json } = await get(`/forms?limit=100&page=${page}`)
    expect([status, json]).toEqual([200, { totalDocs: 2, page: Number(page), limit: 100, items: [] }])
  },
)

test('since and until are no parameters of forms', async () => {
  const { status, headers, json } = await get('/forms?since=2030-01-01&until=2000-01-01')
  expect([status, headers['ignored-parameters']]).toEqual([200, 'since, until'])
  expect(json).toMatchObject({ totalDocs: 2 })
})

test.each([
  ['', ['fields', 'report']],
  ['?includeFields=true&includeReport=true', ['fields', 'report']],
  ['?includeFields=false', ['report']],
  ['?includeReport=false', ['fields']],
  ['?includeFields=false&includeReport=false', []],
])('a single form with %p ends with %p', async (query, parts) => {
  const { status, json } = await get(`/forms/parts${query}`)
  expect(status).toBe(200)
  expect(Object.keys(json as object).slice(10)).toEqual(['description', 'layout', 'systemText', ...parts])
})

test.each(['0', '1', 'no', 'yes', 'falsee', ''])('includeReport=%s gives 400', async (sent) => {
  const { status, json } = await get(`/forms/parts?includeReport=${sent}`)
  const message = `includeReport must be true or false, not "${sent}"`
  expect([status, json]).toEqual([400, { error: { code: 'bad_request', message } }])
})

test('every character an id may have is found, percent-encoded or not', async () => {
  for (const id of ['A.b_c:d-9', 'A%2Eb%5Fc%3Ad%2D9'])
    expect((await get(`/forms/${id}`)).json).toMatchObject({ id: 'A.b_c:d-9' })
})

test.each([
  ['does not exist', 'unknown'],
  ["is another team's", 'foreign'],
  ['was deleted', 'deleted'],
  ['has a malformed id: a space', 'a%20b'],
  ['has a malformed id: a slash', 'team-1%2Fparts'],
  ['has a malformed id: broken percent-encoding', '%E0%A4%A'],
  ['has a malformed id: a percent sign', '%'],
  ['has a malformed id: a control character', '%00'],
  ['has a malformed id: dots', '..'],
  ['has a malformed id: too long', 'x'.repeat(129)],
  ['has a malformed id: no ASCII', '%C3%A9'],
])('what %s gives 404, all alike', async (_why, id) => {
  for (const [list, what] of [
    ['forms', 'form'],
    ['records', 'record'],
  ]) {
    const { status, text } = await get(`/${list}/${id}`)
    expect([status, text]).toEqual([404, `{"error":{"code":"not_found","message":"no such ${what}"}}`])
  }
})
