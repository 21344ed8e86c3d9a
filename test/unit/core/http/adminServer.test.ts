import { serveAdmin } from '../../../../src/core/http/adminServer.ts'
import { portOf, stopServing } from '../../../../src/core/http/httpServer.ts'
import { sendRaw } from '../../../support/raw.ts'

const body = 'here it is'
const address = { host: '127.0.0.1', port: 0, allowedHosts: ['indexer', 'Status.Example'] }
const server = await serveAdmin(address, new Map([['/status', async () => ({ status: 200, headers: {}, body })]]))
afterAll(() => stopServing(server))

const ask = async (head: string): Promise<[string, string]> => {
  const read = await sendRaw(portOf(server), `${head}Connection: close\r\n\r\n`)
  const [lines = '', text = ''] = read.split('\r\n\r\n')
  return [lines.split('\r\n')[0]?.slice(9) ?? '', text]
}

test.each([
  ...['localhost:9102', 'LOCALHOST', '127.0.0.1:9102', '127.9.9.9', '[::1]:9102', '10.1.2.3:9102', '[2001:db8::7]'],
  ...['indexer:9100', 'status.example'],
])('a request to the host %s is answered', async (host) => {
  expect(await ask(`GET /status HTTP/1.1\r\nHost: ${host}\r\n`)).toEqual(['200 OK', expect.stringContaining(body)])
})

test.each([
  ...['rebound.example:9102', 'localhost.rebound.example', '127.0.0.1.rebound.example', 'indexer.example', ''],
])('a request to the unknown host "%s", as after DNS rebinding, is refused', async (host) => {
  const [status, text] = await ask(`GET /status HTTP/1.1\r\nHost: ${host}\r\n`)
  expect(status).toBe('421 Misdirected Request')
  expect(text).toContain(`"${host.replace(/:\d+$/, '')}"`)
  expect(text).toContain('ADMIN_ALLOWED_HOSTS')
})

test('a probe over HTTP/1.0 without a host is answered', async () => {
  expect(await ask('GET /status HTTP/1.0\r\n')).toEqual(['200 OK', expect.stringContaining(body)])
})

test.each([
  ['no host', 'GET /status HTTP/1.1\r\n', '400 Bad Request'],
  ['CONNECT', 'CONNECT localhost:1 HTTP/1.1\r\nHost: localhost\r\n', '405 Method Not Allowed'],
  ['POST', 'POST /status HTTP/1.1\r\nHost: localhost\r\n', '405 Method Not Allowed'],
])('a request with %s is refused', async (_, head, status) => {
  expect((await ask(head))[0]).toBe(status)
})
