import { once } from 'node:events'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import { pino } from 'pino'
import { answerClientError } from '../../../src/api/errors.ts'
import { portOf, serve, stopServing } from '../../../src/core/process/httpServer.ts'

/** What a client reads when Node's server gives up on its request with the error of this code. */
async function answerTo(code: string): Promise<{ head: string; body: unknown; logged: unknown }> {
  const lines: unknown[] = []
  const sink = new Writable({
    write: (chunk, _encoding, done) => {
      lines.push(JSON.parse(String(chunk)))
      done()
    },
  })
  const server = await serve(() => undefined, { port: 0 }, answerClientError(pino({ base: null }, sink)))
  server.on('connection', (socket) => {
    server.emit('clientError', Object.assign(new Error(code), { code }), socket)
  })
  const client = connect(portOf(server), '127.0.0.1')
  const chunks: Buffer[] = []
  client.on('data', (chunk: Buffer) => chunks.push(chunk))
  await once(client, 'close')
  await stopServing(server)
  const [head = '', body = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
  return { head, body: JSON.parse(body), logged: lines.at(-1) }
}

test.each([
  ['ERR_HTTP_REQUEST_TIMEOUT', '408 Request Timeout', 'request_timeout'],
  ['HPE_INVALID_METHOD', '400 Bad Request', 'bad_request'],
  ['HPE_INVALID_URL', '400 Bad Request', 'bad_request'],
  ['HPE_HEADER_OVERFLOW', '431 Request Header Fields Too Large', 'headers_too_long'],
])(
  'a request that ends in %s is told %s, and its log line has the same X-Request-Id',
  async (code, status, expected) => {
    const { head, body, logged } = await answerTo(code)
    expect(head.split('\r\n')[0]).toBe(`HTTP/1.1 ${status}`)
    expect(body).toEqual({ error: { code: expected, message: expect.any(String) } })
    const requestId = /^X-Request-Id: (.*)$/m.exec(head)?.[1]?.trim()
    expect(logged).toMatchObject({ requestId, status: Number(status.slice(0, 3)) })
  },
)
