import { type TestAnswer, type TestRequest, useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'

const team = 'team-1'
const counts = '/api/v1/record-counts?by=day'
const endpoints = ['/api/v1/forms', '/api/v1/records', '/api/v1/forms/f0', '/api/v1/records/f0', counts]
const feeds = ['/api/v1/form-changes', '/api/v1/record-changes']

const ids = Array.from({ length: 20 }, (_, at) => `f${at}`)
const api = useApi({
  forms: ids.map((id) => ({ team, id, entity: formEntity({ id, fields: ids }) })),
  submissions: ids.map((id) => ({ team, id, entity: submissionEntity({ id, data: { ids } }) })),
  watermark: '2026-11-21T10:00:00.123Z',
})

/** All but what is another one with every request, and how the body comes. */
const headersOf = ({ headers }: TestAnswer): unknown => {
  const { date: _, 'x-request-id': _id, ratelimit, 'transfer-encoding': _how, ...same } = headers
  return { ...same, isCounted: ratelimit !== undefined }
}

async function expectAsGet(target: string, request: TestRequest, status: number): Promise<void> {
  const head = await api.send(target, { ...request, method: 'HEAD' })
  expect([head.status, head.text]).toEqual([status, ''])
  const get = await api.send(target, request)
  expect(get.status).toBe(status)
  expect(headersOf(head)).toEqual(headersOf(get))
}

describe.each(endpoints)('HEAD %s has the status and the headers of GET, and no body', (endpoint) => {
  test('for items and lists that exist', () => expectAsGet(endpoint, { key: api.key }, 200))

  test('when nothing has changed', async () => {
    const etag = (await api.get(endpoint)).headers['etag'] ?? ''
    await expectAsGet(endpoint, { key: api.key, headers: { 'if-none-match': etag } }, 304)
  })

  test.each(['gzip', 'br', 'zstd', 'deflate', 'identity', 'gzip;q=0'])('with Accept-Encoding: %s', async (encoding) => {
    const headers = { 'accept-encoding': encoding }
    const head = await api.get(endpoint, { method: 'HEAD', headers })
    const { received } = await api.open(endpoint, headers)
    for await (const _ of received);
    for (const name of ['content-encoding', 'content-length', 'vary', 'etag'])
      expect([name, head.headers[name]]).toEqual([name, received.headers[name]])
  })
})

test.each<readonly [target: string, status: number]>([
  ...feeds.map((feed) => [feed, 200] as const),
  ...feeds.map((feed) => [`${feed}?cursor=latest&Limit=1`, 200] as const),
  ...feeds.map((feed) => [`${feed}?cursor=x`, 400] as const),
  ['/api/v1/forms/?Limit=1', 200],
  ['/api/v1/forms?limit=0', 400],
  ['/api/v1/forms/unknown', 404],
  ['/api/v1/unknown', 404],
  [`/api/v1/forms?titleContains=${'a'.repeat(9_000)}`, 414],
])('HEAD of %s: %i', (target, status) => expectAsGet(target, { key: api.key }, status))
