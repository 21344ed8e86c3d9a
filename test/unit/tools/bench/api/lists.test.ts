import { directRequest, listRequest } from '../../../../../tools/bench/api/lists.ts'

test('a page is asked of the API with its key', () => {
  expect(listRequest({ accountKey: 'key' }, 20, 3)).toEqual({
    method: 'GET',
    path: '/api/v1/records?limit=20&page=3',
    headers: { authorization: 'Bearer key' },
    expectedStatus: 200,
  })
})

test('Elasticsearch is asked for the rows and for the total of the same query at once', () => {
  const { path, body = '' } = directRequest({ index: 'lists', teamId: 'team_large' }, 20)
  const lines = body
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const header = { index: 'lists', routing: 'team_large', allow_partial_search_results: false }
  const query = { bool: { filter: [{ term: { teamId: 'team_large' } }] } }
  expect(path).toBe('/_msearch')
  expect(lines).toEqual([
    header,
    { query, sort: [{ teamId: 'asc' }, { position: 'desc' }], from: 0, size: 20, track_total_hits: false },
    header,
    { query, size: 0, track_total_hits: true },
  ])
})
