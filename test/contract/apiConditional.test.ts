import { type TestAnswer, useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { passes } from '../support/faultyElasticsearch.ts'

const team = 'team-1'
const watermark = '2026-11-21T10:00:00.123Z'
const later = '2026-11-21T10:00:05.000Z'
const [json, ndjson, csv] = ['application/json', 'application/x-ndjson', 'text/csv']
const counts = '/api/v1/record-counts?by=day'
const endpoints = ['/api/v1/forms', '/api/v1/records', '/api/v1/forms/a', '/api/v1/records/a', counts]
const forms = `forms/${team}` as const
const submissions = `submissions/${team}` as const

const api = useApi({
  forms: [{ team, id: 'a', entity: formEntity({ id: 'a' }) }],
  submissions: [{ team, id: 'a', entity: submissionEntity({ id: 'a' }) }],
  hasFaultyElasticsearch: true,
})
beforeEach(() => api.replica.publishWatermark(watermark))

const get = (target: string, ifNoneMatch?: string, more: Record<string, string> = {}): Promise<TestAnswer> =>
  api.get(target, { headers: { ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }), ...more } })
const etagOf = async (target: string, accept = json): Promise<string> =>
  (await get(target, undefined, { accept })).headers['etag'] ?? ''

describe.each(endpoints)('a conditional %s', (endpoint) => {
  test('has a weak ETag, which stays the same until something changes, on GET and HEAD', async () => {
    const etag = await etagOf(endpoint)
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/)
    expect(await etagOf(endpoint)).toBe(etag)
    expect((await api.get(endpoint, { method: 'HEAD' })).headers['etag']).toBe(etag)
  })

  test.each([
    ['the tag itself', (etag: string) => etag],
    ['the tag as a strong one', (etag: string) => etag.slice(2)],
    ['a list that holds it', (etag: string) => `"other", ${etag}, W/"more"`],
    ['any tag', () => '*'],
  ])('is answered 304 without a body to %s, with the current watermark', async (_, sent) => {
    const etag = await etagOf(endpoint)
    await api.replica.advanceWatermark(later)
    const { status, text, headers } = await get(endpoint, sent(etag))
    expect([status, text, headers['etag'], headers['replica-watermark']]).toEqual([304, '', etag, later])
    expect(headers).toMatchObject({ 'cache-control': 'private, no-cache', ratelimit: expect.any(String) })
  })

  test('is answered 304 from Redis alone', async () => {
    const etag = await etagOf(endpoint)
    const asked = api.elasticsearch.inject('', passes)
    for (const method of ['GET', 'HEAD']) {
      const { status } = await api.get(endpoint, { method, headers: { 'if-none-match': `"x", ${etag}` } })
      expect([method, status, asked.met()]).toEqual([method, 304, 0])
    }
  })

  test.each([
    ['Cache-Control: no-cache', { 'cache-control': 'no-cache' }],
    ['Pragma: no-cache', { pragma: 'no-cache' }],
    ['If-Modified-Since', { 'if-modified-since': 'Sat, 21 Nov 2026 10:00:00 GMT' }],
  ])('is answered 304 also when the request carries %s', async (_, more) => {
    expect((await get(endpoint, await etagOf(endpoint), more)).status).toBe(304)
  })

  test('is answered in full after a change, and to a request with another tag or none', async () => {
    const etag = await etagOf(endpoint)
    expect((await get(endpoint, 'W/"another"')).status).toBe(200)
    expect((await get(endpoint, undefined, { 'if-modified-since': new Date().toUTCString() })).status).toBe(200)
    await api.replica.replaceChangeToken(endpoint.includes('forms') ? forms : submissions)
    const answer = await get(endpoint, etag)
    expect([answer.status, answer.headers['etag'] === etag]).toEqual([200, false])
  })

  test('is answered 304 without Elasticsearch, and from Elasticsearch once the list has another version', async () => {
    const etag = await etagOf(endpoint)
    await api.elasticsearch.refuse()
    expect((await get(endpoint, etag)).status).toBe(304)
    await api.replica.replaceChangeToken(endpoint.includes('forms') ? forms : submissions)
    expect((await get(endpoint, etag)).status).toBe(503)
    await api.elasticsearch.accept()
    expect((await get(endpoint, etag)).status).toBe(200)
  })

  test('is answered in full after Redis was emptied, or when another generation serves', async () => {
    for (const event of ['flushed', 'switched'] as const) {
      const etag = await etagOf(endpoint)
      await api.replica.disturb(event)
      const answer = await get(endpoint, etag)
      expect([event, answer.status, answer.headers['etag'] === etag]).toEqual([event, 200, false])
      await api.replica.publishWatermark(watermark)
    }
  })

  test('has neither ETag nor watermark while Redis does not know which generation serves', async () => {
    await api.replica.publishWatermark(null)
    const { status, headers } = await get(endpoint)
    expect([status, headers['etag'], headers['replica-watermark']]).toEqual([200, undefined, undefined])
  })
})

test('a list with changedSince or changedUntil is answered also while there is no watermark', async () => {
  await api.replica.publishWatermark(null)
  for (const list of ['forms?', 'records?', 'record-counts?by=day&'])
    for (const name of ['changedSince', 'changedUntil']) {
      const { status, headers } = await api.get(`/api/v1/${list}${name}=2026-11-20`)
      expect([status, headers['replica-watermark']]).toEqual([200, undefined])
    }
})

test.each<[path: string, queries: readonly string[]]>([
  ['/api/v1/forms', ['', 'limit=5', 'page=2', 'scene=scored_quiz', 'titleContains=a', 'changedUntil=2026-01-01']],
  ['/api/v1/records', ['', 'formId=f', 'status=failed', 'since=2026-01-01', 'until=2026-01-01']],
  ['/api/v1/records', ['', 'changedSince=2026-01-01', 'changedUntil=2026-01-01', 'limit=5', 'page=2']],
  ['/api/v1/forms/a', ['', 'includeFields=false', 'includeReport=false', 'includeFields=false&includeReport=false']],
  ['/api/v1/record-counts', ['by=day', 'by=hour', 'by=form', 'by=day&timeZone=Asia/Tokyo', 'by=day&formId=f1']],
  ['/api/v1/record-counts', ['by=day', 'by=day&status=failed', 'by=day&since=2026-01-01', 'by=day&until=2026-01-01']],
  ['/api/v1/record-counts', ['by=day', 'by=day&changedSince=2026-01-01', 'by=day&changedUntil=2026-01-01']],
])('requests to %s that differ in any parameter have different ETags', async (path, queries) => {
  const tags = await Promise.all(queries.map((query) => etagOf(`${path}?${query}`)))
  expect(new Set(tags).size).toBe(queries.length)
})

test.each(['/api/v1/forms?', '/api/v1/records?'])(
  'a page of %s, its exports in each format and those with view=full have different ETags',
  async (path) => {
    const changed = `${path}changedSince=2026-11-20&`
    const tags = new Set<string | undefined>()
    const answers = [
      ...[path, changed].flatMap((target) => [json, ndjson, csv].map((accept) => [target, accept] as const)),
      ...[path, changed].map((target) => [`${target}view=full`, ndjson] as const),
    ]
    for (const [target, accept] of answers) {
      const tag = await etagOf(target, accept)
      tags.add(tag)
      expect([target, (await get(target, tag, { accept })).status]).toEqual([target, 304])
    }
    expect(tags.size).toBe(answers.length)
  },
)

test.each([
  ['/api/v1/forms?limit=5', '/api/v1/forms?page=1&limit=05&unknown=1&view=summary', json],
  ['/api/v1/records', '/api/v1/records?limit=20&page=1&view=summary', ndjson],
  ['/api/v1/forms?scene=scored_quiz', '/api/v1/forms?scene=scored_quiz&view=summary', ndjson],
  ['/api/v1/forms', '/api/v1/forms?limit=20&page=1&view=summary', csv],
  [`${counts}&timeZone=Asia/Tokyo`, '/api/v1/record-counts?timeZone=asia/tokyo&by=day&x=1', json],
])('%s has the ETag and the body of %s as %s, because both mean the same', async (one, other, accept) => {
  const [first, second] = await Promise.all([one, other].map((target) => get(target, undefined, { accept })))
  expect(first?.headers['etag']).toMatch(/^W\//)
  expect([second?.status, second?.headers['etag'], second?.text]).toEqual([200, first?.headers['etag'], first?.text])
})

test('a change of a form changes no ETag of submissions, and a change of another team changes no ETag', async () => {
  const [form, record] = [await etagOf('/api/v1/forms'), await etagOf('/api/v1/records')]
  await api.replica.replaceChangeToken('forms/team-2')
  expect((await get('/api/v1/forms', form)).status).toBe(304)
  await api.replica.replaceChangeToken(forms)
  expect((await get('/api/v1/records', record)).status).toBe(304)
})

test('an item that does not exist is 404, whatever If-None-Match says', async () => {
  for (const path of ['/api/v1/forms/none', '/api/v1/records/none']) expect((await get(path, '*')).status).toBe(404)
})

test('the ETag of one team gets no 304 for another team', async () => {
  const etag = await etagOf('/api/v1/forms')
  const other = await api.replica.storeKey('team-2', { id: 'key-2' })
  const { status } = await api.send('/api/v1/forms', { key: other, headers: { 'if-none-match': etag } })
  expect(status).toBe(200)
})
