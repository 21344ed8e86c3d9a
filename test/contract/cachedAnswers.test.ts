import { buffer } from 'node:stream/consumers'
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib'
import type { EntityType } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { type TestAnswer, useApi } from '../support/api.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { type Injected, passes } from '../support/faultyElasticsearch.ts'

const [team, otherTeam] = ['team-1', 'team-2']
const title = 'A title that is long enough to be worth compressing. '.repeat(30)
const endpoints = ['/api/v1/forms', '/api/v1/records', '/api/v1/forms/a', '/api/v1/records/a']
const typeOf = (endpoint: string): EntityType => (endpoint.includes('forms') ? 'forms' : 'submissions')
const [first, later] = ['2026-11-21T10:00:00.000Z', '2026-11-21T10:00:05.000Z'] as [Instant, Instant]

const api = useApi({
  teams: [team, otherTeam],
  forms: [team, otherTeam].map((each) => {
    return { team: each, id: 'a', entity: formEntity({ id: 'a', title: `${each} ${title}` }) }
  }),
  submissions: [team, otherTeam].map((each) => {
    return { team: each, id: 'a', entity: submissionEntity({ id: 'a', data: { text: `${each} ${title}` } }) }
  }),
  hasFaultyElasticsearch: true,
})

let passed: Injected
beforeEach(async () => {
  await api.replica.publishWatermark(first)
  for (const each of [team, otherTeam])
    for (const type of ['forms', 'submissions'] as const) await api.replica.replaceChangeToken(`${type}/${each}`)
  // Where a primary is may be remembered.
  passed = api.elasticsearch.inject('', passes, { when: ({ path }) => !path.includes('_search_shards') })
})

/** What an answer is, apart from what is new in every answer. */
const contentOf = ({ status, text, headers }: TestAnswer): unknown => {
  const { 'x-request-id': _id, date: _date, ratelimit: _limit, ...others } = headers
  return { status, text, headers: others }
}

/** Runs while the API cannot reach Elasticsearch. */
async function withoutElasticsearch(run: () => Promise<void>): Promise<void> {
  await api.elasticsearch.refuse()
  try {
    await run()
  } finally {
    await api.elasticsearch.accept()
  }
}

async function getRaw(target: string, encoding: string): Promise<{ encoding: string | undefined; body: Buffer }> {
  const { received } = await api.open(target, { 'accept-encoding': encoding })
  return { encoding: received.headers['content-encoding'], body: await buffer(received) }
}

describe.each(endpoints)('%s, requested again', (endpoint) => {
  const list = `${typeOf(endpoint)}/${team}` as const

  test('is answered from the cache until the list changes, with the current watermark', async () => {
    const before = await api.get(endpoint)
    await api.replica.advanceWatermark(later)
    const asked = passed.met()
    const again = await api.get(endpoint)
    const headers = { ...before.headers, 'replica-watermark': later }
    expect(contentOf(again)).toEqual(contentOf({ ...before, headers }))
    expect(passed.met()).toBe(asked)
    await api.replica.replaceChangeToken(list)
    expect((await api.get(endpoint)).text).toBe(before.text)
    expect(passed.met()).toBeGreaterThan(asked)
  })

  test('is answered while Elasticsearch is away; other requests get 503', async () => {
    const before = await api.get(endpoint)
    await withoutElasticsearch(async () => {
      expect((await api.get(endpoint)).text).toBe(before.text)
      const other = await api.get(`${endpoint}?includeFields=false&limit=7`)
      expect(other.status).toBe(endpoint === '/api/v1/records/a' ? 200 : 503)
      await api.replica.replaceChangeToken(list)
      expect((await api.get(endpoint)).status).toBe(503)
    })
  })

  test('has another answer for another team', async () => {
    const [one, other] = [await api.get(endpoint), await api.get(endpoint, { key: api.keyOf(otherTeam) })]
    expect(one.text).toContain(`${team} A title`)
    expect(other.text).toContain(`${otherTeam} A title`)
    expect((await api.get(endpoint)).text).toBe(one.text)
    expect((await api.get(endpoint, { key: api.keyOf(otherTeam) })).text).toBe(other.text)
  })

  test('is compressed as each client accepts it', async () => {
    const plain = (await api.get(endpoint)).text
    for (const round of ['made', 'kept']) {
      const gzip = await getRaw(endpoint, 'gzip')
      const zstd = await getRaw(endpoint, 'gzip, zstd')
      const br = await getRaw(endpoint, 'br')
      const none = await getRaw(endpoint, 'identity')
      const encodings = [gzip, zstd, br, none].map(({ encoding }) => encoding)
      expect([round, ...encodings]).toEqual([round, 'gzip', 'zstd', 'br', undefined])
      expect(brotliDecompressSync(br.body).toString()).toBe(plain)
      expect(gunzipSync(gzip.body).toString()).toBe(plain)
      expect(zstdDecompressSync(zstd.body).toString()).toBe(plain)
      expect(none.body.toString()).toBe(plain)
    }
  })

  test('causes one search when many clients request it at the same time', async () => {
    const asked = passed.met()
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.get(endpoint)))
    expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    // Before an answer, it is asked whether the list has large ones.
    expect(passed.met() - asked).toBe(2)
  })
})

test('an item that does not exist is 404 each time, and found once it exists', async () => {
  for (const _ of ['once', 'again']) expect((await api.get('/api/v1/forms/new')).status).toBe(404)
  await api.replica.storeForms({ team, id: 'new', entity: formEntity({ id: 'new' }) })
  await api.replica.replaceChangeToken(`forms/${team}`)
  expect((await api.get('/api/v1/forms/new')).status).toBe(200)
})
