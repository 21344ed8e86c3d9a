import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { askList, type ListReader, untilListed } from '../../../../../tools/bench/indexer/freshness.ts'

const signal = new AbortController().signal
const tokens: (string | undefined)[] = []
let ids: string[] = ['first']
let changesAfter = Number.POSITIVE_INFINITY

const server = createServer({ keepAliveTimeout: 60_000 }, ({ headers }, response) => {
  tokens.push(headers['if-none-match'])
  if (--changesAfter === 0) ids = ['second', ...ids]
  const etag = `"${ids.length}"`
  if (headers['if-none-match'] === etag) return response.writeHead(304).end()
  return response.writeHead(200, { etag }).end(JSON.stringify({ items: ids.map((id) => ({ id })) }))
})
let reader: ListReader

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  reader = {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    accountKey: 'key',
    teamId: 'team',
  }
})

afterAll(() => {
  server.close()
  server.closeAllConnections()
})

test('a submission is seen once the list is another one and shows it', async () => {
  const { etag, ids: known } = await askList(reader, undefined, signal)
  expect(known).toEqual(['first'])
  changesAfter = 3
  const acknowledgedMs = performance.now() - 500
  expect(await untilListed(reader, etag, 'second', acknowledgedMs, signal)).toBeGreaterThan(500)
  expect(tokens).toEqual([undefined, '"1"', '"1"', '"1"'])
})

test('a submission that is never seen ends the bench', async () => {
  const longAgoMs = performance.now() - 60_000
  await expect(untilListed(reader, undefined, 'third', longAgoMs, signal)).rejects.toThrow('third is not in its list')
})
