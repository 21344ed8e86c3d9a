import { type TeamId, teamList } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import type { TestAnswer, TestApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import {
  emptySearch,
  type FakeElasticsearch,
  answer as fakeAnswer,
  startFakeElasticsearch,
} from '../support/fakeElasticsearch.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const watermark = '2026-11-21T10:00:00.123Z' as Instant
const later = '2026-11-21T10:00:05.000Z' as Instant
const endpoints = ['/api/v1/forms', '/api/v1/records', '/api/v1/forms/a', '/api/v1/records/a']
const forms = teamList('forms', team as TeamId)
const submissions = teamList('submissions', team as TeamId)

const api = useApi({
  forms: [{ team, id: 'a', entity: formEntity({ id: 'a' }) }],
  submissions: [{ team, id: 'a', entity: submissionEntity({ id: 'a' }) }],
  hasFaultyElasticsearch: true,
})
afterEach(async () => {
  await api.elasticsearch.restore()
  for (const list of [forms, submissions]) await api.replica.setPending(list, false)
})
beforeEach(() => api.replica.publishWatermark(watermark))

const get = (target: string, ifNoneMatch?: string, more: Record<string, string> = {}): Promise<TestAnswer> =>
  api.get(target, { headers: { ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }), ...more } })
const etagOf = async (target: string): Promise<string> => (await get(target)).headers['etag'] ?? ''

describe.each(endpoints)('a conditional %s', (endpoint) => {
  test('carries a weak ETag, the same as long as nothing changes, on GET and HEAD', async () => {
    const etag = await etagOf(endpoint)
    expect(etag).toMatch(/^W\/"[\w-]{22}(?:\/[\dT:.Z-]{24})?"$/)
    expect(await etagOf(endpoint)).toBe(etag)
    expect((await api.get(endpoint, { method: 'HEAD' })).headers['etag']).toBe(etag)
  })

  test.each([
    ['the tag itself', (etag: string) => etag],
    ['the tag as a strong one', (etag: string) => etag.slice(2)],
    ['a list that holds it', (etag: string) => `"other", ${etag}, W/"more"`],
    ['any tag', () => '*'],
  ])('is answered 304 without a body to %s, with the watermark of now', async (_, sent) => {
    const etag = await etagOf(endpoint)
    await api.replica.publishWatermark(later)
    const { status, text, headers } = await get(endpoint, sent(etag))
    expect([status, text, headers['etag'], headers['replica-watermark']]).toEqual([304, '', etag, later])
    expect(headers).toMatchObject({ 'cache-control': 'private, no-cache', ratelimit: expect.any(String) })
  })

  test.each([
    ['Cache-Control: no-cache', { 'cache-control': 'no-cache' }],
    ['Pragma: no-cache', { pragma: 'no-cache' }],
    ['If-Modified-Since', { 'if-modified-since': 'Sat, 21 Nov 2026 10:00:00 GMT' }],
  ])('is answered 304 also when the request carries %s', async (_, more) => {
    expect((await get(endpoint, await etagOf(endpoint), more)).status).toBe(304)
  })

  test('is answered in full once a change was refreshed, to another tag, or without one', async () => {
    const etag = await etagOf(endpoint)
    expect((await get(endpoint, 'W/"another"')).status).toBe(200)
    expect((await get(endpoint, undefined, { 'if-modified-since': new Date().toUTCString() })).status).toBe(200)
    await api.replica.replaceChangeToken(endpoint.includes('forms') ? forms : submissions)
    const answer = await get(endpoint, etag)
    expect([answer.status, answer.headers['etag'] === etag]).toEqual([200, false])
  })

  test('is answered from what is visible while a change may be, before the list has another version', async () => {
    const etag = await etagOf(endpoint)
    await api.replica.setPending(endpoint.includes('forms') ? forms : submissions, true)
    expect((await get(endpoint, etag)).status).toBe(200)
    expect((await get(endpoint, '*')).status).toBe(304)
    // Without Elasticsearch nobody sees the change.
    await api.elasticsearch.refuse()
    expect((await get(endpoint, etag)).status).toBe(304)
  })

  test('is answered in full after Redis forgot, or when other indices serve', async () => {
    for (const event of ['flushed', 'switched'] as const) {
      const etag = await etagOf(endpoint)
      await api.replica.disturb(event)
      const answer = await get(endpoint, etag)
      expect([event, answer.status, answer.headers['etag'] === etag]).toEqual([event, 200, false])
      await api.replica.publishWatermark(watermark)
    }
  })

  test('has neither ETag nor watermark while it is not known which indices serve', async () => {
    await api.replica.publishWatermark(null)
    const { status, headers } = await get(endpoint)
    expect([status, headers['etag'], headers['replica-watermark']]).toEqual([200, undefined, undefined])
  })
})

test.each(['forms?', 'records?', 'record-counts?by=day&'])(
  'a window of change, %s, without a watermark is 503',
  async (list) => {
    await api.replica.publishWatermark(null)
    for (const name of ['changedSince', 'changedUntil']) {
      const { status, headers, json } = await api.get(`/api/v1/${list}${name}=2026-11-20`)
      expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)])
      expect(json).toEqual({ error: { code: 'service_unavailable', message: expect.any(String) } })
    }
  },
)

test('answers that are not 2xx or 304 have no watermark', async () => {
  for (const target of ['/api/v1/forms/unknown', '/api/v1/forms?limit=0', '/unknown'])
    expect((await api.get(target)).headers['replica-watermark']).toBeUndefined()
  expect((await api.send('/api/v1/forms')).headers['replica-watermark']).toBeUndefined()
})

test('the tag differs with the parameters as they are understood, and not with how they are written', async () => {
  const [first, ...others] = await Promise.all(
    ['?limit=5', '?limit=6', '?limit=5&page=2', '?limit=5&scene=scored_quiz'].map((query) =>
      etagOf(`/api/v1/forms${query}`),
    ),
  )
  expect(new Set([first, ...others]).size).toBe(4)
  expect(await etagOf('/api/v1/forms?page=1&limit=05&unknown=1')).toBe(first)
  expect(await etagOf('/api/v1/forms/a?includeFields=false')).not.toBe(await etagOf('/api/v1/forms/a'))
})

test.each([
  ['/api/v1/forms', ['scene=scored_quiz', 'titleContains=a', 'changedSince=2026-01-01', 'changedUntil=2026-01-01']],
  ['/api/v1/records', ['formId=f', 'status=failed', 'since=2026-01-01', 'until=2026-01-01', 'changedSince=2026-01-01']],
  ['/api/v1/forms/a', ['includeFields=false', 'includeReport=false', 'includeFields=false&includeReport=false']],
])('every parameter of %s has a part in the tag', async (path, queries) => {
  const tags = await Promise.all(['', ...queries].map((query) => etagOf(`${path}?${query}`)))
  expect(new Set(tags).size).toBe(queries.length + 1)
})

test('a change of a form leaves the tags of submissions alone, and one of another team leaves all alone', async () => {
  const [form, record] = [await etagOf('/api/v1/forms'), await etagOf('/api/v1/records')]
  await api.replica.replaceChangeToken(teamList('forms', 'team-2' as TeamId))
  expect((await get('/api/v1/forms', form)).status).toBe(304)
  await api.replica.replaceChangeToken(forms)
  expect((await get('/api/v1/records', record)).status).toBe(304)
})

test('what does not exist is 404 whatever tag is sent', async () => {
  for (const path of ['/api/v1/forms/none', '/api/v1/records/none']) expect((await get(path, '*')).status).toBe(404)
})

test('the tag of one team is nothing to another', async () => {
  const etag = await etagOf('/api/v1/forms')
  const other = await api.replica.storeKey('team-2', { id: 'key-2' })
  const { status } = await api.send('/api/v1/forms', { key: other, headers: { 'if-none-match': etag } })
  expect(status).toBe(200)
})

describe('Without Elasticsearch', () => {
  let fake: FakeElasticsearch
  let alone: TestApi
  beforeAll(async () => {
    fake = await startFakeElasticsearch()
    alone = await api.startAnother({ ELASTICSEARCH_URL: fake.url })
  })
  afterAll(async () => {
    await alone?.close()
    await fake?.close()
  })

  test.each(endpoints)('"not changed" is answered from Redis alone: %s', async (endpoint) => {
    const etag = await etagOf(endpoint)
    let asked = 0
    fake.answerWith((request, response) => {
      asked++
      fakeAnswer(200, emptySearch)(request, response)
    })
    for (const method of ['GET', 'HEAD']) {
      const { status } = await alone.send(endpoint, {
        key: api.key,
        method,
        headers: { 'if-none-match': `"x", ${etag}` },
      })
      expect([status, asked]).toEqual([304, 0])
    }
  })
})
