import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { askRepeatedly, idleConnections } from '../../../../../../tools/bench/api/idle/connections.ts'

const request = 'GET / HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n'
const { signal } = new AbortController()
let server: Server
let port: number
let requests = 0
let connections = 0

beforeEach(async () => {
  requests = 0
  connections = 0
  server = createServer((_, response) => {
    requests += 1
    response.writeHead(304).end()
  })
  server.on('connection', () => {
    connections += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  port = (server.address() as AddressInfo).port
})
afterEach(async () => {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
})

test('each connection is answered once, and stays; more of them open what is missing', async () => {
  const idle = idleConnections(port, request, 304)
  await idle.reach(60, signal)
  await idle.reach(120, signal)
  expect([requests, connections, idle.open()]).toEqual([120, 120, 120])
  await idle.close()
  expect(idle.open()).toBe(0)
})

test('what the server has let go does not count as open', async () => {
  const idle = idleConnections(port, request, 304)
  await idle.reach(10, signal)
  server.closeAllConnections()
  await sleep(50)
  expect(idle.open()).toBe(0)
})

test('another status is told', async () => {
  await expect(idleConnections(port, request, 200).reach(1, signal)).rejects.toThrow('is answered HTTP/1.1 304')
})

test('few connections ask many times', async () => {
  await askRepeatedly(port, { request, status: 304, times: 500 }, signal)
  expect([requests, connections]).toEqual([500, 50])
})
