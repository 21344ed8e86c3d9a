import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { cutsAnswer, cutsRequest, refusesWith, resetsConnection } from '../../support/elasticsearchFaults.ts'
import { type FaultyElasticsearch, startFaultyElasticsearch } from '../../support/faultyElasticsearch.ts'

/** Answers with the bytes it was sent, and remembers the size of those that it was sent whole. */
const whole: number[] = []
const target = createServer((request, response) => {
  const echo = (body: Buffer): void => {
    whole.push(body.length)
    response.writeHead(201, { 'x-elastic-product': 'Elasticsearch', 'x-path': request.url ?? '' })
    response.end(body)
  }
  buffer(request).then(echo, () => undefined)
})
const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, at) => at % 256))
let elasticsearch: FaultyElasticsearch

beforeAll(async () => {
  target.listen(0, '127.0.0.1')
  await once(target, 'listening')
  elasticsearch = await startFaultyElasticsearch(`http://127.0.0.1:${(target.address() as AddressInfo).port}`)
})
beforeEach(() => whole.splice(0))
afterAll(async () => {
  await elasticsearch.close()
  target.close()
})

const post = (path = '/_bulk?a=%20b'): Promise<Response> =>
  fetch(elasticsearch.url + path, { method: 'POST', body: bytes })
const bytesOf = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer())

test('without a fault, bytes, status, headers and path pass as they are', async () => {
  const answer = await post()
  expect([answer.status, answer.headers.get('x-path')]).toEqual([201, '/_bulk?a=%20b'])
  expect(answer.headers.get('x-elastic-product')).toBe('Elasticsearch')
  expect((await bytesOf(answer)).equals(bytes)).toBe(true)
})

test('a fault meets the requests of its path, as often as it is told, until it is lifted', async () => {
  const twice = elasticsearch.inject('/_bulk', refusesWith(429, 'es_rejected_execution_exception'), { times: 2 })
  expect([(await post()).status, (await post('/_refresh')).status, (await post()).status]).toEqual([429, 201, 429])
  expect([(await post()).status, twice.met()]).toEqual([201, 2])
  const lasting = elasticsearch.inject('/_bulk', refusesWith(503, 'cluster_block_exception'))
  expect((await post()).status).toBe(503)
  lasting.lift()
  expect((await post()).status).toBe(201)
})

test.each([
  ['reset before Elasticsearch saw the request', resetsConnection, []],
  ['cut in the middle of the request', cutsRequest, []],
  ['cut in the middle of the answer', cutsAnswer, [bytes.length]],
])('%s: the client gets no answer', async (_what, fault, seen) => {
  elasticsearch.inject('/_bulk', fault, { times: 1 })
  await expect(post().then(bytesOf)).rejects.toThrow()
  expect((await post('/_refresh')).status).toBe(201)
  expect(whole).toEqual([...seen, bytes.length])
})

test('once it is restored, no fault is met, and connections are accepted', async () => {
  elasticsearch.inject('/_bulk', refusesWith(503, 'cluster_block_exception'))
  await elasticsearch.refuse()
  await elasticsearch.restore()
  expect((await post()).status).toBe(201)
  await elasticsearch.restore()
  expect((await post()).status).toBe(201)
})

test('refused connections are accepted again at the same port', async () => {
  await elasticsearch.refuse()
  await expect(post()).rejects.toThrow()
  await elasticsearch.accept()
  expect((await post()).status).toBe(201)
})
