import type { IncomingMessage } from 'node:http'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text as readText } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from 'node:zlib'
import { linesOf, type TestAnswer, useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import type { Exchange } from '../support/faultyElasticsearch.ts'
import { laterParts } from '../support/heldExports.ts'
import { queryData } from '../support/queryData.ts'

const [team, other] = ['acme', 'b.team:1']
const [json, ndjson, csv] = ['application/json', 'application/x-ndjson', 'text/csv']
const watermark = '2026-11-21T08:00:00.000Z'

const api = useApi({
  teams: [team, other],
  fill: (replica) => queryData(61).storeIn(replica),
  watermark,
  hasFaultyElasticsearch: true,
})

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
const open = (acceptEncoding = 'identity', accept = ndjson) =>
  api.open('/api/v1/records', { accept, 'accept-encoding': acceptEncoding })

test.each([
  ...['/api/v1/records', '/api/v1/records?formId=none', '/api/v1/forms', '/api/v1/forms?titleContains=quzi'],
  '/api/v1/records?formId=f1&status=completed&since=2026-03-01T10:00:00Z',
  '/api/v1/records?changedSince=2026-11-20T12:00:00.001Z',
  '/api/v1/forms?titleContains=quiz&scene=scored_quiz&changedUntil=2026-11-20T12:00:00.001Z',
])('%s as NDJSON has the same items as its pages, in the same order', async (path) => {
  const answer = await ask(path)
  expect(answer.status).toBe(200)
  expect(answer.headers['content-type']).toBe(ndjson)
  expect(answer.headers['replica-watermark']).toBe(watermark)
  expect(linesOf(answer).map((line) => JSON.parse(line))).toEqual(await walked(path))
})

const decompressors = {
  ...{ gzip: createGunzip, deflate: createInflate, br: createBrotliDecompress, zstd: createZstdDecompress },
} as const

describe.each(Object.keys(decompressors) as (keyof typeof decompressors)[])('an export in %s', (encoding) => {
  const decompressed = (received: IncomingMessage): Readable => {
    expect(received.headers['content-encoding']).toBe(encoding)
    const plain = decompressors[encoding]()
    pipeline(received, plain).catch(() => undefined)
    return plain
  }

  test.each([ndjson, csv])('has the same content as %s, in fewer bytes', async (accept) => {
    const plain = (await ask('/api/v1/records', { accept })).text
    const { received } = await open(encoding, accept)
    let receivedBytes = 0
    received.on('data', (chunk: Buffer) => {
      receivedBytes += chunk.length
    })
    expect(await readText(decompressed(received))).toBe(plain)
    expect(receivedBytes).toBeLessThan(Buffer.byteLength(plain) / 3)
  })

  test('sends every row it has found before it finds the next ones', async () => {
    const held = api.hold()
    const { received } = await open(encoding)
    const rows = createInterface({ input: decompressed(received) })[Symbol.asyncIterator]()
    await held.untilReached()
    const first: unknown[] = []
    while (first.length < held.firstRows()) first.push(JSON.parse((await rows.next()).value ?? ''))
    expect(first).toEqual((await walked('/api/v1/records')).slice(0, held.firstRows()))
    held.goOn()
    let others = 0
    for await (const _row of { [Symbol.asyncIterator]: () => rows }) others++
    expect(others).toBeGreaterThan(0)
  })
})

test.each(['identity', ...Object.keys(decompressors)])(
  'HEAD of an export in %s has the headers of GET',
  async (encoding) => {
    for (const accept of [ndjson, csv]) {
      const head = await ask('/api/v1/records', { accept, 'accept-encoding': encoding }, 'HEAD')
      expect([head.status, head.text]).toEqual([200, ''])
      const { received } = await open(encoding, accept)
      for await (const _ of received);
      for (const name of ['content-encoding', 'content-type', 'content-length', 'vary', 'etag', 'replica-watermark'])
        expect([name, head.headers[name]]).toEqual([name, received.headers[name]])
    }
    await eventually(async () => (await api.replica.openContexts()) === 0)
  },
)

test.each([
  ['*/*', json],
  [`application/json, ${ndjson}`, json],
  [`${csv};q=0.5, */*`, json],
  [`${csv};q=0`, json],
  [`${ndjson}; charset=utf-8; q=0, */*`, json],
  [`${ndjson};q=0.4, application/json;charset=utf-8;q=0.5`, json],
  ['application/x-ndjsonl', json],
  ['???', json],
  [`${ndjson}, */*;q=0.1`, ndjson],
  [`${ndjson}; charset=utf-8`, ndjson],
  [`${ndjson};charset=UTF-8;q=0.5, application/json;q=0.4`, ndjson],
  [`application/json;q=0.4, ${ndjson};profile="a,b;q=0";q=0.5`, ndjson],
  ['application/json;indent=2;q=0.1, APPLICATION/X-NDJSON', ndjson],
])('a request with Accept: %s is answered as %s', async (accept, format) => {
  const { headers } = await ask('/api/v1/records', { accept })
  expect(headers['content-type']?.split(';')[0]).toBe(format)
})

test('an export shows one moment, whatever is written meanwhile', async () => {
  const before = await walked('/api/v1/records')
  const held = api.hold()
  const exporting = ask('/api/v1/records')
  await held.untilReached()
  const [id, submittedAt] = ['written-meanwhile', '1000-01-01T00:00:00.000Z']
  await api.replica.storeSubmissions({ team, id, entity: submissionEntity({ id, submittedAt }) })
  held.goOn()
  expect(linesOf(await exporting).map((line) => JSON.parse(line))).toEqual(before)
  expect(linesOf(await ask('/api/v1/records'))).toHaveLength(before.length + 1)
})

test('an export breaks off, and never looks complete, when Elasticsearch finds fewer rows than it counted', async () => {
  const fault = async (exchange: Exchange): Promise<void> => {
    const answer = await exchange.ask()
    const { hits: _hits, ...rest } = JSON.parse(answer.body.toString())
    exchange.reply({ ...answer, body: Buffer.from(JSON.stringify({ ...rest, hits: { hits: [] } })) })
  }
  api.elasticsearch.inject('/_search', fault, laterParts())
  const { received } = await open()
  expect(received.statusCode).toBe(200)
  await expect(readText(received)).rejects.toThrow('aborted')
  await eventually(async () => (await api.replica.openContexts()) === 0)
})

test.each([
  [ndjson, '/_pit'],
  [csv, '/_pit'],
  [csv, '/_mget'],
])('an export as %s is answered 503 if %s fails before its first row', async (accept, what) => {
  api.elasticsearch.inject(what, (exchange) => exchange.response.destroy())
  const { status, headers, json } = await ask('/api/v1/records?formId=f1', { accept })
  expect([status, headers['retry-after']]).toEqual([503, expect.stringMatching(/^[1-9]/)])
  expect(json).toMatchObject({ error: { code: 'service_unavailable' } })
})

test('the time that a client takes to read an export is logged, and not included in the measured duration', async () => {
  const measuredMs = async (): Promise<number> => {
    const durations = await api.metrics.getSingleMetricAsString('tidemark_http_request_duration_seconds')
    return (
      Number(/_sum\{route="\/api\/v1\/records",method="GET",status="200"\} (\S+)/.exec(durations)?.[1] ?? 0) * 1_000
    )
  }
  const [held, before] = [api.hold(), await measuredMs()]
  const { received } = await open()
  await held.untilReached()
  const sinceMs = performance.now()
  for (let at = 0; at < 20; at++) await api.get('/api/v1/forms')
  const heldMs = performance.now() - sinceMs
  held.goOn()
  await readText(received)
  const line = () => api.logLines.find(({ requestId }) => requestId === received.headers['x-request-id'])
  await eventually(() => line() !== undefined)
  const loggedMs = Number(line()?.['durationMs'])
  expect(loggedMs + 1).toBeGreaterThan(heldMs)
  expect((await measuredMs()) - before).toBeLessThan(loggedMs - heldMs + 1)
})

test('a team may run four exports at once, and one more after a client has disconnected; other teams are served meanwhile', async () => {
  const held = api.hold()
  const running = await Promise.all([ndjson, csv, ndjson, csv].map((accept) => open('identity', accept)))
  const few = '/api/v1/records?formId=none'
  for (const accept of [ndjson, csv]) {
    const { status, headers, json } = await ask(few, { accept })
    expect([status, headers['retry-after']]).toEqual([429, expect.stringMatching(/^[1-9]/)])
    expect(json).toEqual({ error: { code: 'rate_limited', message: expect.stringContaining('exports') } })
  }
  expect((await api.get('/api/v1/forms')).status).toBe(200)
  expect((await api.send(few, { key: api.keyOf(other), headers: { accept: ndjson } })).status).toBe(200)
  running[0]?.sent.destroy()
  await eventually(async () => (await ask(few)).status === 200)
  held.goOn()
  const [first, , third] = await Promise.all(running.slice(1).map(({ received }) => readText(received)))
  expect(first).toBe(third)
  await eventually(async () => (await api.replica.openContexts()) === 0)
})
