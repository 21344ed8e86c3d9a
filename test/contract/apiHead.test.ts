import type { Instant } from '../../src/core/model/instant.ts'
import { startTestApi, type TestAnswer, type TestApi, type TestRequest } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { createTestReplica, type TestReplica } from '../support/replica.ts'

const team = 'team-1'
const endpoints = ['/api/v1/forms', '/api/v1/records', '/api/v1/forms/f0', '/api/v1/records/f0']

let replica: TestReplica
let api: TestApi
let key: string

beforeAll(async () => {
  replica = await createTestReplica()
  await replica.completeAccountKeys()
  await replica.publishWatermark('2026-11-21T10:00:00.123Z' as Instant)
  key = await replica.storeKey(team)
  const ids = Array.from({ length: 20 }, (_, at) => `f${at}`)
  await replica.storeForms(...ids.map((id) => ({ team, id, entity: formEntity({ id, fields: ids }) })))
  await replica.storeSubmissions(...ids.map((id) => ({ team, id, entity: submissionEntity({ id, data: { ids } }) })))
  api = await startTestApi({ settings: { INDEX_PREFIX: replica.prefix, RATE_LIMIT_PER_MINUTE: '100000' } })
})
afterAll(async () => {
  await api.close()
  await replica.close()
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
  test('for what is there', () => expectAsGet(endpoint, { key }, 200))

  test('behind a trailing slash, with a parameter that is not known', () =>
    expectAsGet(`${endpoint}/?Limit=1`, { key }, 200))

  test('when nothing has changed', async () => {
    const etag = (await api.send(endpoint, { key })).headers['etag'] ?? ''
    await expectAsGet(endpoint, { key, headers: { 'if-none-match': etag } }, 304)
  })

  test('without a key, and with a bad one', async () => {
    await expectAsGet(endpoint, {}, 401)
    await expectAsGet(endpoint, { key: 'rqp_acct_unknown' }, 401)
  })

  test('when the key view is not complete', async () => {
    await replica.loseAccountKeys()
    await expectAsGet(endpoint, { key }, 503)
    await replica.completeAccountKeys()
  })

  test.each(['gzip', 'br', 'zstd', 'deflate', 'identity', 'gzip;q=0'])('when %s is accepted', async (encoding) => {
    const request = { method: 'HEAD', key, headers: { 'accept-encoding': encoding } }
    const head = await api.send(endpoint, request)
    const url = `http://127.0.0.1:${api.port}${endpoint}`
    const get = await fetch(url, { headers: { ...request.headers, authorization: `Bearer ${key}` } })
    await get.arrayBuffer()
    for (const name of ['content-encoding', 'content-length', 'vary', 'etag'])
      expect([name, head.headers[name]]).toEqual([name, get.headers.get(name) ?? undefined])
  })
})

test.each([
  ['/api/v1/forms?limit=0', 400],
  ['/api/v1/records?since=yesterday&x=1', 400],
  ['/api/v1/forms/unknown', 404],
  ['/api/v1/records/a%20b', 404],
  ['/api/v1/unknown', 404],
  [`/api/v1/forms?titleContains=${'a'.repeat(9_000)}`, 414],
])('HEAD of what is refused: %s', (target, status) => expectAsGet(target, { key }, status))

test('HEAD of a key that is used up', async () => {
  const strict = await startTestApi({ settings: { INDEX_PREFIX: replica.prefix, RATE_LIMIT_PER_MINUTE: '1' } })
  const worn = await replica.storeKey(team, { id: 'worn' })
  await strict.send('/api/v1/forms', { key: worn })
  const { status, text, headers } = await strict.send('/api/v1/forms', { key: worn, method: 'HEAD' })
  expect([status, text, headers['retry-after']]).toEqual([429, '', expect.stringMatching(/^\d+$/)])
  await strict.close()
})
