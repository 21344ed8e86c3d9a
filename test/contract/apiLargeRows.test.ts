import { toInstant } from '../../src/core/model/instant.ts'
import { linesOf, type TestAnswer, useApi } from '../support/api.ts'
import { csvRecords } from '../support/csv.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'

const [ndjson, csv] = ['application/x-ndjson', 'text/csv']
const [large, manyFields, longTitles] = ['large', 'many-fields', 'long-titles']
/** The most that one answer of Elasticsearch may have: rows that are not large, or a single large one. */
const mostBytes = 4 * 1024 * 1024
const rowBytes = [10, 10_000, 17_000, 300_000, 900_000]
const rows = 60
const forms = 100
const titles = 2_000

const submission = (at: number): Readonly<Record<string, unknown>> & { id: string } => {
  const submittedAt = toInstant(Date.UTC(2026, 0, 1) + at)
  const data = { q: 'x'.repeat(rowBytes[at % rowBytes.length] ?? 0), at }
  return submissionEntity({ id: `s${at}`, formId: `form-${at % 2}`, submittedAt, data })
}
const fields = Array.from({ length: 5_000 }, (_, code) => {
  return { code: `q${code}`, type: 'text', title: `Question ${code}` }
})
const form = (at: number): Readonly<Record<string, unknown>> & { id: string } => {
  const createdAt = toInstant(Date.UTC(2026, 0, 1) + at)
  return formEntity({ id: `f${at}`, title: `Form ${at} ${'long title '.repeat(at * 80)}`, createdAt, fields })
}

const words = Array.from({ length: 200 }, (_, at) => `word${at}`).join(' ')
const titled = (at: number) => {
  const createdAt = toInstant(Date.UTC(2026, 0, 1) + at)
  const entity = formEntity({ id: `f${at}`, title: `Question${at} ${words}`, createdAt })
  return { team: longTitles, id: `f${at}`, entity }
}
const answered = (at: number) => {
  return { team: longTitles, id: `s${at}`, entity: submissionEntity({ id: `s${at}`, formId: `f${at}` }) }
}

const api = useApi({
  teams: [large, manyFields, longTitles],
  fill: async (replica) => {
    const all = <T>(count: number, make: (at: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
    await replica.storeSubmissions(
      ...all(rows, (at) => ({ team: large, id: `s${at}`, entity: submission(at) })),
      ...all(titles, answered),
    )
    await replica.storeForms(
      ...all(forms, (at) => ({ team: manyFields, id: `f${at}`, entity: form(at) })),
      ...all(titles, titled),
    )
  },
  watermark: toInstant(Date.parse('2026-11-23T08:00:00.000Z')),
  hasFaultyElasticsearch: true,
  settings: { ANSWER_CACHE_BYTES: '0' },
})

type Row = { readonly id: string; readonly data: unknown }

const ask = (path: string, accept = 'application/json', team = large): Promise<TestAnswer> =>
  api.send(path, { key: api.keyOf(team), headers: { accept } })
const newestFirst = Array.from({ length: rows }, (_, at) => submission(rows - 1 - at))
const same = (found: readonly Row[], expected: readonly { readonly id: string }[]): void => {
  expect(found.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
  // Texts of megabytes make no message that anybody could read.
  expect(found.every(({ data }, at) => JSON.stringify(data) === JSON.stringify((expected[at] as Row).data))).toBe(true)
}

let largestAnswer = 0
beforeEach(() => {
  largestAnswer = 0
  api.elasticsearch.inject('/', async (exchange) => {
    const answer = await exchange.ask()
    largestAnswer = Math.max(largestAnswer, answer.body.length)
    exchange.reply(answer)
  })
})
// Whatever is asked, also where small rows come before large ones.
afterEach(() => {
  expect(largestAnswer).toBeGreaterThan(0)
  expect(largestAnswer).toBeLessThan(mostBytes)
})

test.each([
  ['a page further on', 2, 25],
  ['the last page', 3, 25],
  ['a page with a single row', 5, 1],
  ['one page of all', 1, 100],
])('%s with rows of up to a megabyte is complete', async (_what, page, limit) => {
  const answer = await ask(`/api/v1/records?page=${page}&limit=${limit}`)
  expect(answer.status).toBe(200)
  const { items, ...envelope } = answer.json as { readonly items: readonly Row[] }
  expect(envelope).toEqual({ totalDocs: rows, page, limit })
  same(items, newestFirst.slice((page - 1) * limit, page * limit))
  expect(answer.headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    etag: expect.any(String),
    'replica-watermark': expect.any(String),
    link: expect.stringContaining('rel="first"'),
  })
})

test('exports in every format have every row, large or not', async () => {
  for (const path of ['/api/v1/records', '/api/v1/records?view=full']) {
    const found = linesOf(await ask(path, ndjson)).map((line) => JSON.parse(line) as Row)
    same(found, newestFirst)
  }
  const table = await ask('/api/v1/records', csv)
  expect(table.status).toBe(200)
  const found = csvRecords(table.text).map(({ id, data }) => {
    return { id: id?.text ?? '', data: JSON.parse(data?.text ?? '') as unknown }
  })
  same(found, newestFirst)
})

test('forms of thousands of fields and titles of thousands of words are listed, found and exported whole', async () => {
  const page = await ask('/api/v1/forms?limit=100', 'application/json', manyFields)
  expect(page.json).toMatchObject({ totalDocs: forms })
  expect((page.json as { items: unknown[] }).items).toHaveLength(forms)
  for (const typed of ['long+title', 'long+titel']) {
    const found = await ask(`/api/v1/forms?titleContains=${typed}&limit=100`, 'application/json', manyFields)
    expect(found.json).toMatchObject({ totalDocs: forms - 1 })
  }
  const whole = linesOf(await ask('/api/v1/forms?view=full', ndjson, manyFields))
  expect(whole.map((line) => (JSON.parse(line) as { fields: unknown[] }).fields.length)).toEqual(
    Array(forms).fill(5_000),
  )
})

test('a search among thousands of long titles finds each, as typed or misspelt, and counts by form count every submission', async () => {
  for (const typed of ['question1999 word199', 'qestion1999 wrod199']) {
    const query = new URLSearchParams({ titleContains: typed, limit: '100' })
    const { json } = await ask(`/api/v1/forms?${query}`, 'application/json', longTitles)
    expect((json as { items: { id: string }[] }).items.map(({ id }) => id)).toContain('f1999')
  }
  for (const typed of ['word0+word199', 'question+wrod7']) {
    const query = `titleContains=${typed}&limit=100&page=20`
    const all = await ask(`/api/v1/forms?${query}`, 'application/json', longTitles)
    expect(all.json).toMatchObject({ totalDocs: titles })
    expect((all.json as { items: unknown[] }).items).toHaveLength(100)
  }
  expect(linesOf(await ask('/api/v1/forms', ndjson, longTitles))).toHaveLength(titles)
  const counts = await ask('/api/v1/record-counts?by=form', 'application/json', longTitles)
  expect((counts.json as { items: { count: number }[] }).items.map(({ count }) => count)).toEqual(Array(titles).fill(1))
})
