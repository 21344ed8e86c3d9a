import { listRequest, rawRequests } from '../../../../../tools/bench/api/lists.ts'

test('a list is asked of the API with its filter; with an ETag, nothing new is expected', () => {
  const question = { limit: 20, page: 3, filter: 'status=completed' } as const
  expect(listRequest(question, 'key')).toEqual({
    method: 'GET',
    path: '/api/v1/records?status=completed&limit=20&page=3',
    headers: { authorization: 'Bearer key' },
    expectedStatus: 200,
  })
  expect(listRequest(question, 'key', 'W/"x"')).toMatchObject({
    headers: { 'if-none-match': 'W/"x"' },
    expectedStatus: 304,
  })
})

test('Elasticsearch is asked for the rows and, beside them, for the total of the same query', () => {
  const [search, count] = rawRequests('tidemark', 20, 'status=completed')
  const query = { bool: { filter: [{ term: { teamId: 'team_large' } }, { term: { status: 'completed' } }] } }
  expect(JSON.parse(search?.body ?? '')).toEqual({
    query,
    sort: [{ teamId: 'asc' }, { position: 'desc' }],
    track_total_hits: false,
    size: 20,
  })
  expect(JSON.parse(count?.body ?? '')).toEqual({ query })
})
