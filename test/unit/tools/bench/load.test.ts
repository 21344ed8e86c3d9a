import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type HttpRequest, load } from '../../../../tools/bench/load.ts'
import { eventually } from '../../../support/eventually.ts'

const latencyMs = 5
let heard: string[] = []
let underWay = 0
let mostUnderWay = 0

/** A timer of a busy process may fire before its time. */
async function untilLate(): Promise<void> {
  const dueMs = performance.now() + latencyMs
  while (performance.now() < dueMs) await sleep(1)
}
/** What an answer waits for. */
let mayAnswer = untilLate

const answer: RequestListener = (request, response) => {
  heard.push(`${request.url} ${request.headers.authorization}`)
  mostUnderWay = Math.max(mostUnderWay, ++underWay)
  const reply = (): void => {
    underWay -= 1
    const isUnchanged = request.headers['if-none-match'] !== undefined
    response.writeHead(isUnchanged ? 304 : 200).end(isUnchanged ? undefined : 'x'.repeat(100_000))
  }
  mayAnswer().then(reply, () => response.destroy())
}
const signal = new AbortController().signal
let server: Server
let origin: string

const get = (path: string, headers: Record<string, string>, expectedStatus = 200): HttpRequest => ({
  method: 'GET',
  path,
  headers,
  expectedStatus,
})
const pace = { connections: 1, leadIn: 2, maxRequests: 5, maxMs: 60_000 }

// A load that ends leaves requests under way: those of another test would be heard on the same port.
beforeEach(async () => {
  server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await eventually(() => underWay === 0)
  heard = []
  mostUnderWay = 0
  mayAnswer = untilLate
})

test('requests go in turn, each with its own headers; the lead-in is not counted', async () => {
  const requests = [get('/1', { authorization: 'a' }), get('/2', { authorization: 'b', 'if-none-match': '"x"' }, 304)]
  const sample = await load({ origin, requests }, pace, signal)
  expect(heard.slice(0, 7)).toEqual(['/1 a', '/2 b', '/1 a', '/2 b', '/1 a', '/2 b', '/1 a'])
  expect(sample.count).toBe(5)
  expect(sample.p50Ms).toBeGreaterThan(latencyMs - 1)
  expect(sample.p99Ms).toBeGreaterThanOrEqual(sample.p50Ms)
  expect(sample.perSecond).toBeLessThanOrEqual(1_000 / (latencyMs - 1))
})

test('so many requests are under way as there are connections', async () => {
  mayAnswer = () => eventually(() => mostUnderWay >= 4)
  await load({ origin, requests: [get('/', {})] }, { ...pace, connections: 4, maxRequests: 100 }, signal)
  expect(mostUnderWay).toBe(4)
})

test('an answer with another status than expected ends the load, and so does an unreachable server', async () => {
  const unexpected = [get('/', {}, 304)]
  await expect(load({ origin, requests: unexpected }, pace, signal)).rejects.toThrow('GET / answers 200')
  await expect(load({ origin: 'http://127.0.0.1:1', requests: [get('/', {})] }, pace, signal)).rejects.toThrow(
    'ECONNREFUSED',
  )
})
