import { useApi } from '../support/api.ts'
import { sendRaw, statusesIn } from '../support/raw.ts'

const path = '/api/v1/forms'
const host = 'Host: api.example\r\n'
const close = 'Connection: close\r\n'

const api = useApi()
let authorization: string
beforeAll(() => {
  authorization = `Authorization: Bearer ${api.key}\r\n`
})

const ask = (head: string, body = ''): Promise<string> => sendRaw(api.port, `${head}\r\n${body}`)

const expectRefused = (read: string, status: number, code: string): void => {
  const [head = '', body = ''] = read.split('\r\n\r\n')
  expect(statusesIn(read)).toEqual([status])
  expect(head).toMatch(/^Content-Type: application\/json; charset=utf-8\r$/im)
  expect(head).toMatch(/^X-Request-Id: [\w-]{36}\r$/im)
  expect(head).toMatch(/^Cache-Control: private, no-cache\r$/im)
  expect(head).toMatch(/^Vary: Authorization, Accept, Accept-Encoding\r$/im)
  expect(head).toMatch(/^Connection: close\r?$/im)
  expect(JSON.parse(body)).toEqual({ error: { code, message: expect.any(String) } })
}

test.each([
  ['no Host', ''],
  ['two equal Host headers', `${host}${host}`],
  ['two different Host headers', `${host}Host: other.example\r\n`],
  ['a Host that is no host', 'Host: http://api.example/\r\n'],
])('a request with %s gives 400', async (_, hosts) => {
  expectRefused(await ask(`GET ${path} HTTP/1.1\r\n${hosts}${authorization}`), 400, 'bad_request')
})

test.each(['Host:', 'Host: [::1]:3000', 'Host: 127.0.0.1:3000', 'Host: API_1.example.'])(
  'a request with "%s" is answered',
  async (one) => {
    expect(statusesIn(await ask(`GET ${path} HTTP/1.1\r\n${one}\r\n${authorization}${close}`))).toEqual([200])
  },
)

test('HEAD without a Host gives 400 without a body', async () => {
  const read = await ask(`HEAD ${path} HTTP/1.1\r\n${authorization}`)
  expect([statusesIn(read), read.split('\r\n\r\n')[1]]).toEqual([[400], ''])
})

test('a request with two Authorization headers gets 400, whatever their values', async () => {
  for (const other of [authorization, 'Authorization: Basic dGVhbTo=\r\n']) {
    const read = await ask(`GET ${path} HTTP/1.1\r\n${host}${authorization}${other}${close}`)
    expectRefused(read, 400, 'bad_request')
  }
})

test.each([
  ...['CONNECT example.com:443', `CONNECT ${path}`, `FOO ${path}`, `get ${path}`, `GETS ${path}`, 'M-SEARCH-2 *'],
])('%s gives 405 with Allow', async (asked) => {
  const read = await ask(`${asked} HTTP/1.1\r\n${host}${authorization}`)
  expectRefused(read, 405, 'method_not_allowed')
  expect(read).toMatch(/^Allow: GET, HEAD, OPTIONS\r$/m)
})

test.each([
  ['HTTP/2', Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')],
  ['TLS', Buffer.from('16030100c8010000c40303', 'hex')],
  ['SSH', Buffer.from('SSH-2.0-OpenSSH_9.2p1\r\n')],
  ['raw UTF-8 in the URL', Buffer.from(`GET ${path}?titleContains=é HTTP/1.1\r\n${host}\r\n`)],
  ['a broken header', Buffer.from('GET / HTTP/1.1\r\nHost x\r\n\r\n')],
  ['a header on two lines', Buffer.from(`GET / HTTP/1.1\r\n${host}X: a\r\n b\r\n\r\n`)],
  ['two lengths', Buffer.from(`GET / HTTP/1.1\r\n${host}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n`)],
  ['a chunk without a length', Buffer.from(`GET / HTTP/1.1\r\n${host}Transfer-Encoding: chunked\r\n\r\nzz\r\n\r\n`)],
])('%s gives 400', async (_, bytes) => {
  expectRefused(await sendRaw(api.port, bytes), 400, 'bad_request')
})

test.each(['websocket', 'h2c', 'TLS/1.0'])(
  'a request to upgrade to %s is answered over HTTP/1.1, and its connection is closed',
  async (to) => {
    const head = `GET ${path} HTTP/1.1\r\n${host}${authorization}`
    const read = await ask(`${head}Connection: Upgrade\r\nUpgrade: ${to}\r\n\r\n${head}`)
    expect(statusesIn(read)).toEqual([200])
  },
)

test('a request with Expect: 100-continue gets 100, then its answer', async () => {
  const read = await ask(`GET ${path} HTTP/1.1\r\n${host}${authorization}${close}Expect: 100-continue\r\n`)
  expect(statusesIn(read)).toEqual([100, 200])
})

test.each([
  ['an unknown method', `FOO / HTTP/1.1\r\n${host}`, 405],
  ['CONNECT', `CONNECT example.com:443 HTTP/1.1\r\n${host}`, 405],
  ['bytes that are no HTTP', 'hello\r\n', 400],
])('%s, pipelined behind good requests, is answered after them', async (_, head, status) => {
  const good = `GET ${path} HTTP/1.1\r\n${host}${authorization}\r\n`
  expect(statusesIn(await ask(`${good}${good}${head}`))).toEqual([200, 200, status])
})
