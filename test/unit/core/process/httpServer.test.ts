import { once } from 'node:events'
import type { RequestListener, Server } from 'node:http'
import { connect } from 'node:net'
import { refusal, statusOf } from '../../../../src/core/process/clientErrors.ts'
import { portOf, serve, stopServing } from '../../../../src/core/process/httpServer.ts'
import { statusesIn } from '../../../support/raw.ts'

const start = (listener: RequestListener): Promise<Server> =>
  serve(listener, { port: 0 }, (reason) => refusal(statusOf[reason], {}, reason))

test('what breaks off a request is not answered in the middle of the answer to it', async () => {
  const server = await start((_, response) => {
    response.writeHead(200, { 'Content-Length': 1_000 }).write('a part of ')
  })
  const client = connect(portOf(server), '127.0.0.1')
  let read = ''
  client.setEncoding('utf8').on('error', () => undefined)
  client.on('data', (text: string) => {
    read += text
  })
  client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  await once(client, 'data')
  client.write('no length\r\n')
  await once(client, 'close')
  await stopServing(server)
  expect(statusesIn(read)).toEqual([200])
  expect(read).toMatch(/a part of $/)
})

test('a connection that asked for a tunnel does not keep a server from stopping', async () => {
  const server = await start(() => undefined)
  const client = connect({ port: portOf(server), host: '127.0.0.1', allowHalfOpen: true })
  client.write('CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(client, 'data')
  await stopServing(server)
  expect(client.writable).toBe(true)
  client.destroy()
})
