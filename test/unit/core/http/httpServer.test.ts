import { once } from 'node:events'
import { Agent, get, type IncomingMessage, type RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { refusal, statusOf } from '../../../../src/core/http/clientErrors.ts'
import { portOf, ResettingServer, serve, stopServing } from '../../../../src/core/http/httpServer.ts'
import { sentOn } from '../../../../src/core/http/slowReaders.ts'
import { eventually } from '../../../support/eventually.ts'
import { listenLocally } from '../../../support/localServer.ts'
import { readToEnd, statusesIn } from '../../../support/raw.ts'

const start = (listener: RequestListener): Promise<ResettingServer> =>
  serve(listener, { port: 0 }, (reason) => refusal(statusOf[reason], {}, reason))

test('a malformed request body adds no error to an answer that has begun', async () => {
  const server = await start((_, response) => {
    response.writeHead(200, { 'Content-Length': 1_000 }).write('a part of ')
  })
  const client = connect(portOf(server), '127.0.0.1').once('data', () => client.write('no length\r\n'))
  client.write('POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n')
  const { received } = await readToEnd(client)
  await stopServing(server)
  expect(statusesIn(received)).toEqual([200])
  expect(received).toMatch(/a part of $/)
})

test('a connection after CONNECT does not keep a server from stopping', async () => {
  const server = await start(() => undefined)
  const client = connect({ port: portOf(server), host: '127.0.0.1', allowHalfOpen: true })
  client.write('CONNECT example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(client, 'data')
  await stopServing(server)
  expect(client.writable).toBe(true)
  client.destroy()
})

test('a server that drains answers on kept-alive and on new connections, and ends each with its answer', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const server = await start((_, response) => response.end('whole'))
  const port = portOf(server)
  const ask = async (): Promise<(string | undefined)[]> => {
    const request = get({ port, agent, host: '127.0.0.1' })
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const text = (await response.toArray()).join('')
    return [text, response.headers.connection, request.reusedSocket ? 'reused' : 'new']
  }
  expect(await ask()).toEqual(['whole', 'keep-alive', 'new'])
  const stopped = stopServing(server, 60_000)
  expect(await ask()).toEqual(['whole', 'close', 'reused'])
  expect(await ask()).toEqual(['whole', 'close', 'new'])
  await stopped
  await expect(ask()).rejects.toThrow('ECONNREFUSED')
  agent.destroy()
})

const servers: ResettingServer[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  }
})

/** How the connection ends of a client who sends `head`; `act` is called with the server once an answer has begun. */
async function endOf(head: string, listener: RequestListener, act: (server: ResettingServer) => void) {
  const server = new ResettingServer({}, listener)
  servers.push(server)
  const client = connect(await listenLocally(server), '127.0.0.1').once('data', () => act(server))
  client.write(`${head}\r\n\r\n`)
  return await readToEnd(client)
}

const oldHttp = 'GET / HTTP/1.0'
const newHttp = 'GET / HTTP/1.1\r\nHost: test'
const cuts: readonly [string, (server: ResettingServer) => void][] = [
  ['at the end of the server', (server) => server.closeAllConnections()],
  ['when nothing moves on the connection any more', () => undefined],
]
describe.each(cuts)('an answer that is cut %s', (_when, act) => {
  const stalls: RequestListener = (request, response) => {
    request.socket.setTimeout(50)
    response.write('first\n')
  }

  test('does not look complete over HTTP/1.0', async () => {
    expect((await endOf(oldHttp, stalls, act)).end).toBe('ECONNRESET')
  })

  test('lacks its last chunk over HTTP/1.1', async () => {
    const { received, end } = await endOf(newHttp, stalls, act)
    expect([received.endsWith('6\r\nfirst\n\r\n'), end]).toEqual([true, 'end'])
  })
})

test('a complete answer is not reset', async () => {
  const whole: RequestListener = (_request, response) => response.end('whole\n')
  const { received, end } = await endOf(oldHttp, whole, (server) => server.closeAllConnections())
  expect([received.endsWith('whole\n'), end]).toEqual([true, 'end'])
})

describe('a client of a long answer', () => {
  /** More than the kernels of both sides take. */
  const body = Buffer.alloc(64 * 1024 * 1024, 'x')

  /** A client of an answer that waits for it; `slow`: how often the server found it so. */
  async function waited(listener?: RequestListener) {
    let [slow, timeouts, sent]: [number, number, Socket | undefined] = [0, 0, undefined]
    const server = new ResettingServer({}, (request, response) => {
      response.once('slow', () => slow++)
      if (listener !== undefined) return listener(request, response)
      sent = request.socket.setTimeout(50).on('timeout', () => timeouts++)
      response.end(body)
    })
    servers.push(server)
    const client = connect(await listenLocally(server), '127.0.0.1')
    const failed = new Promise((resolve) => client.once('error', resolve))
    client.pause()
    client.write(`${newHttp}\r\n\r\n`)
    if (listener === undefined) await eventually(() => sent !== undefined && sentOn(sent).waitingBytes > 0)
    const look = (seconds: number): void => {
      for (let at = 0; at < seconds; at++) server.resetSlowReaders(1_000, 60_000)
    }
    return {
      client,
      failed,
      look,
      slow: () => slow,
      timeouts: () => timeouts,
      taken: () => (sent === undefined ? 0 : sentOn(sent).acceptedBytes),
    }
  }

  test('that reads nothing is reset once it is too far behind', async () => {
    const { client, failed, look, slow } = await waited()
    look(61)
    expect([slow(), client.destroyed]).toEqual([0, false])
    look(1)
    expect(slow()).toBe(1)
    client.resume()
    expect(await failed).toMatchObject({ code: 'ECONNRESET' })
  })

  test('that reads again after a pause is not reset', async () => {
    const { client, look, slow, taken } = await waited()
    look(61)
    const before = taken()
    client.resume()
    await eventually(() => taken() - before > 1_000_000)
    look(61)
    expect(slow()).toBe(0)
    client.destroy()
  })

  test('is not judged while its answer is made', async () => {
    const { client, look, slow } = await waited((_, response) => response.write('a beginning'))
    await once(client.resume(), 'data')
    look(1_000)
    expect(slow()).toBe(0)
    client.destroy()
  })

  test('is not closed by the time limit of connections on which nothing moves', async () => {
    const { client, taken, timeouts } = await waited()
    await eventually(() => timeouts() > 0)
    const before = taken()
    client.resume()
    await eventually(() => taken() > before)
    client.destroy()
  })
})
