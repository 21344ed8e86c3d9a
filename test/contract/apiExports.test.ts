import type { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import type { Instant } from '../../src/core/model/instant.ts'
import { linesOf, openAnswer, type TestAnswer } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import type { Exchange } from '../support/faultyElasticsearch.ts'
import { firstRows, holdingExports, laterPart } from '../support/heldExports.ts'
import { queryData } from '../support/queryData.ts'
import { useApi } from '../support/useApi.ts'

const [team, other] = ['acme', 'b.team:1']
const ndjson = 'application/x-ndjson'
const watermark = '2026-11-21T08:00:00.000Z' as Instant

const api = useApi({
  teams: [team, other],
  fill: (replica) => queryData(61).storeIn(replica),
  watermark,
  hasFaultyElasticsearch: true,
})
const hold = holdingExports(api.elasticsearch)

const ask = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<TestAnswer> =>
  api.get(path, { method, headers: { accept: ndjson, ...headers } })
const withLimit = (path: string, page: number): string =>
  `${path}${path.includes('?') ? '&' : '?'}limit=100&page=${page}`
/** What a client gets who asks for one page after the other. */
async function walked(path: string): Promise<unknown[]> {
  const items: unknown[] = []
  for (let page = 1; ; page++) {
    const { json } = await api.get(withLimit(path, page))
    const found = (json as { items: unknown[] }).items
    if (found.length === 0) return items
    items.push(...found)
  }
}

/** An export that is read by hand. */
const open = (acceptEncoding = 'identity'): ReturnType<typeof openAnswer> => {
  const headers = { authorization: `Bearer ${api.key}`, accept: ndjson, 'accept-encoding': acceptEncoding }
  return openAnswer(api.port, '/api/v1/records', headers)
}

test.each([
  '/api/v1/records',
  '/api/v1/records?formId=f1',
  '/api/v1/records?status=completed&since=2026-03-01T10:00:00Z',
  '/api/v1/records?changedSince=2026-11-20T12:00:00.001Z',
  '/api/v1/records?formId=none',
  '/api/v1/forms',
  '/api/v1/forms?scene=scored_quiz',
  '/api/v1/forms?titleContains=quiz',
  '/api/v1/forms?titleContains=quzi',
  '/api/v1/forms?changedUntil=2026-11-20T12:00:00.001Z',
])('%s as NDJSON holds what a walk through its pages holds, in the same order', async (path) => {
  const answer = await ask(path)
  expect(answer.status).toBe(200)
  expect(answer.headers['content-type']).toBe(ndjson)
  expect(answer.headers['replica-watermark']).toBe(watermark)
  expect(linesOf(answer).map((line) => JSON.parse(line))).toEqual(await walked(path))
})

const decompressors = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
  zstd: createZstdDecompress,
} as const

describe.each(Object.keys(decompressors) as (keyof typeof decompressors)[])('an export in %s', (encoding) => {
  const decompressed = (received: IncomingMessage): Readable => {
    expect(received.headers['content-encoding']).toBe(encoding)
    const plain = decompressors[encoding]()
    pipeline(received, plain).catch(() => undefined)
    return plain
  }

  test('holds the same, in fewer bytes', async () => {
    const plain = (await ask('/api/v1/records')).text
    const { received } = await open(encoding)
    let receivedBytes = 0
    received.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length
    })
    expect(await readText(decompressed(received))).toBe(plain)
    expect(receivedBytes).toBeLessThan(Buffer.byteLength(plain) / 3)
  })

  test('hands over every row that was found before the next ones are', async () => {
    const held = hold()
    const { received } = await open(encoding)
    const rows = createInterface({ input: decompressed(received) })[Symbol.asyncIterator]()
    const first: unknown[] = []
    while (first.length < firstRows) first.push(JSON.parse((await rows.next()).value ?? ''))
    expect(first).toEqual((await walked('/api/v1/records')).slice(0, firstRows))
    held.goOn()
    let others = 0
    for await (const _row of { [Symbol.asyncIterator]: () => rows }) others++
    expect(others).toBeGreaterThan(0)
  })

  test('is told of by HEAD as by GET', async () => {
    const headers = { 'accept-encoding': encoding }
    const head = await ask('/api/v1/records', headers, 'HEAD')
    const { received } = await open(encoding)
    received.resume()
    for (const name of ['content-encoding', 'content-type', 'content-length', 'vary', 'etag', 'replica-watermark'])
      expect([name, head.headers[name]]).toEqual([name, received.headers[name]])
  })
})

test('a client that takes JSON as gladly gets a page', async () => {
  for (const accept of ['*/*', `application/json, ${ndjson}`, `${ndjson};q=0.5, application/json`])
    expect((await ask('/api/v1/records', { accept })).json).toMatchObject({ page: 1 })
  expect(linesOf(await ask('/api/v1/records', { accept: `${ndjson}, */*;q=0.1` })).length).toBeGreaterThan(100)
})

test.each([
  `${ndjson}; charset=utf-8`,
  `${ndjson};charset=UTF-8;q=0.5, application/json;q=0.4`,
  `application/json;q=0.4, ${ndjson};profile="a,b;q=0";q=0.5`,
  `application/json;indent=2;q=0.1, APPLICATION/X-NDJSON`,
])('Accept: %s asks for NDJSON', async (accept) => {
  expect((await ask('/api/v1/records', { accept })).headers['content-type']).toBe(ndjson)
})

test.each([
  `${ndjson};q=0`,
  `${ndjson}; charset=utf-8; q=0, */*`,
  `${ndjson};q=0.4, application/json;charset=utf-8;q=0.5`,
  'application/x-ndjsonl',
])('Accept: %s does not', async (accept) => {
  expect((await ask('/api/v1/records', { accept })).json).toMatchObject({ page: 1 })
})

test('HEAD tells of an export without it', async () => {
  const { status, headers, text } = await ask('/api/v1/records', {}, 'HEAD')
  expect([status, headers['content-type'], text]).toEqual([200, ndjson, ''])
  await eventually(async () => (await api.replica.openContexts()) === 0)
})

test('an export is of one moment, whatever is written meanwhile', async () => {
  const before = await walked('/api/v1/records')
  const held = hold()
  const exporting = ask('/api/v1/records')
  await held.untilReached()
  const [id, submittedAt] = ['written-meanwhile', '1000-01-01T00:00:00.000Z']
  await api.replica.storeSubmissions({ team, id, entity: submissionEntity({ id, submittedAt }) })
  held.goOn()
  expect(linesOf(await exporting).map((line) => JSON.parse(line))).toEqual(before)
  expect(linesOf(await ask('/api/v1/records'))).toHaveLength(before.length + 1)
})

test.each([
  ['fails', (exchange: Exchange) => exchange.response.destroy()],
  [
    'finds less than it counted',
    async (exchange: Exchange) => {
      const answer = await exchange.ask()
      const { hits: _hits, ...rest } = JSON.parse(answer.body.toString())
      exchange.reply({ ...answer, body: Buffer.from(JSON.stringify({ ...rest, hits: { hits: [] } })) })
    },
  ],
] as const)('an export is broken off, never ended, when Elasticsearch %s on the way', async (_how, fault) => {
  api.elasticsearch.inject('/_search', fault, { when: laterPart })
  const { received } = await open()
  expect(received.statusCode).toBe(200)
  await expect(readText(received)).rejects.toThrow('aborted')
  await eventually(async () => (await api.replica.openContexts()) === 0)
})

test('an export that cannot begin is answered 503', async () => {
  api.elasticsearch.inject('/_pit', (exchange) => exchange.response.destroy())
  const { status, headers } = await ask('/api/v1/records')
  expect([status, headers['content-type'], headers['retry-after']]).toEqual([
    503,
    expect.stringContaining('json'),
    expect.stringMatching(/^[1-9]/),
  ])
})

test('a team has four exports at once; others are served meanwhile, and a client that goes away makes room', async () => {
  const held = hold()
  const running = [await open(), await open(), await open(), await open()]
  const few = '/api/v1/records?formId=none'
  const refused = await ask(few)
  expect([refused.status, refused.headers['retry-after'], refused.json]).toEqual([
    429,
    expect.stringMatching(/^[1-9]/),
    { error: { code: 'rate_limited', message: expect.stringContaining('exports') } },
  ])
  expect((await api.get('/api/v1/forms')).status).toBe(200)
  expect((await api.send(few, { key: api.keyOf(other), headers: { accept: ndjson } })).status).toBe(200)
  running[0]?.sent.destroy()
  await eventually(async () => (await ask(few)).status === 200)
  held.goOn()
  const [, ...others] = running
  const texts = await Promise.all(others.map(({ received }) => readText(received)))
  expect(new Set(texts).size).toBe(1)
  await eventually(async () => (await api.replica.openContexts()) === 0)
})
