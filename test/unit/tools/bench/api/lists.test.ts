import { directRequest, listRequest, newDirectRequest, newListRequest } from '../../../../../tools/bench/api/lists.ts'

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

test('a new question is another one each time, and Elasticsearch is asked for it in one search', () => {
  const paths = [1, 2].map(() => newListRequest({ accountKey: 'key' }, 20).path)
  expect(new Set(paths).size).toBe(2)
  expect(paths[0]).toMatch(/^\/api\/v1\/records\?limit=20&until=2100-/)
  const asked = [1, 2].map(() => newDirectRequest({ index: 'lists', teamId: 'team_large' }, 20))
  const searches = asked.map(({ body = '' }) => JSON.parse(body))
  expect(asked[0]?.path).toBe('/lists/_search?routing=team_large&allow_partial_search_results=false')
  expect(searches[0]).toMatchObject({ size: 20, track_total_hits: true })
  const [first, second] = searches.map(({ query }) => query.bool.filter[1].range.createdAt.lte)
  expect(first).toMatch(/^2100-/)
  expect(second > first).toBe(true)
})
