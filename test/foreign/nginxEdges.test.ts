import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { readToEnd, sendRaw } from '../support/raw.ts'
import { describeNginx, shippedFor, startNginx } from './support/nginx.ts'

const path = '/api/v1/forms'
const host = 'Host: api.example\r\n'
const close = 'Connection: close\r\n'
const [team, large] = ['team-1', 'large']
/** A page of them is as large as one may be that is not streamed: a stream is never written to a disk. */
const largeRows = Array.from({ length: 100 }, (_, at) => {
  const entity = submissionEntity({ id: `s${at}`, data: { text: `${at}`.padEnd(14_000, 'x') } })
  return { team: large, id: `s${at}`, entity }
})

const api = useApi({ teams: [team, large], submissions: largeRows, hasFaultyElasticsearch: true })
/** With its warnings, of which one tells of each answer that is written to a disk; a slow client is not hidden by the buffer of its socket. */
const shipped = (port: number, servers: string): string =>
  shippedFor(port, servers).replace(' crit;', ' warn;').replace(`:${port};`, `:${port} sndbuf=32k;`)
const nginx = useStarted('nginx', () => startNginx((port) => shipped(port, `server 127.0.0.1:${api.port};`)))
const portOf = ({ url }: { readonly url: string }): number => Number(new URL(url).port)

const request = (line: string, headers = ''): string =>
  `${line} HTTP/1.1\r\n${host}Authorization: Bearer ${api.key}\r\n${close}${headers}\r\n`
const getWith = (headers: string): string => request(`GET ${path}`, headers)
const withHost = (hosts: string): string => getWith('').replace(host, hosts)
const long = (bytes: number): string => `${path}?limit=7&${'a'.repeat(bytes - path.length - 9)}`
/** Of each header that the API, its parser or nginx reads, what costs a naive reader most. */
const hostile = [
  ...['accept', 'accept-encoding', 'accept-language', 'cookie', 'content-type', 'expect', 'if-none-match', 'origin'],
  ...['prefer', 'range', 'if-modified-since', 'x-forwarded-for', 'upgrade'],
].map((name) => [`15,000 bytes of ${name}`, () => getWith(`${name}: ${'a="\\",'.repeat(2_500)}x\r\n`)] as const)

const edges: readonly (readonly [name: string, bytes: () => string | Buffer])[] = [
  ['a good request', () => getWith('')],
  ['HEAD', () => request(`HEAD ${path}`)],
  ['OPTIONS', () => request(`OPTIONS ${path}`)],
  ['HTTP/1.0 without a Host', () => `GET ${path} HTTP/1.0\r\nAuthorization: Bearer ${api.key}\r\n\r\n`],
  ['HTTP/1.1 without a Host', () => withHost('')],
  ['two hosts', () => withHost(`${host}Host: other.example\r\n`)],
  ['a Host with a path', () => withHost('Host: api.example/path\r\n')],
  ['a Host with a port', () => withHost('Host: [::1]:3000\r\n')],
  ...['POST', 'PUT', 'DELETE', 'TRACE', 'FOO', 'PROPFIND'].map(
    (method) => [method, () => request(`${method} ${path}`)] as const,
  ),
  ['HTTP/2', () => Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0')],
  ['TLS', () => Buffer.from('16030100c8010000c40303', 'hex')],
  ['SSH', () => 'SSH-2.0-OpenSSH_9.2p1\r\n'],
  ['bytes that are no HTTP', () => 'hello\r\n'],
  ['raw UTF-8 in the URL', () => request(`GET ${path}?titleContains=é`)],
  ['two lengths', () => getWith('Content-Length: 1\r\nTransfer-Encoding: chunked\r\n')],
  ['a chunk without a length', () => `${getWith('Transfer-Encoding: chunked\r\n')}zz\r\n\r\n`],
  ['the absolute form of a URL', () => request(`GET http://example.com${path}`)],
  ['two keys', () => getWith(`Authorization: Bearer ${api.key}\r\n`)],
  ['no key', () => getWith('').replace('Authorization', 'X-Authorization')],
  ['an unknown path', () => request('GET /nowhere')],
  ['a path that leads up', () => request('GET /api/v1/../v1/forms')],
  ['a path with two slashes', () => request('GET //api/v1/forms')],
  ['a limit that is none', () => request(`GET ${path}?limit=0`)],
  ...[8_000, 8_192, 8_193, 12_000, 40_000].map(
    (bytes) => [`a URL of ${bytes} bytes`, () => request(`GET ${long(bytes)}`)] as const,
  ),
  ...[8_000, 15_000, 17_000, 40_000].map(
    (bytes) => [`a header of ${bytes} bytes`, () => getWith(`X-A: ${'a'.repeat(bytes)}\r\n`)] as const,
  ),
  ['many headers', () => getWith('X-A: aaaaaaaaaaaaaaaaaaaaaaaaaa\r\n'.repeat(600))],
  ['a body', () => `${getWith('Content-Length: 11\r\n')}{"limit":0}`],
  ['a body of 2 MB', () => `${request(`POST ${path}`, 'Content-Length: 2000000\r\n')}${'x'.repeat(2_000_000)}`],
  ...hostile,
]

/** What a client understands of an answer. */
async function answerTo(port: number, bytes: string | Buffer) {
  const socket = connect(port, '127.0.0.1')
  socket.write(bytes)
  const [head = '', body = ''] = (await readToEnd(socket)).received.split('\r\n\r\n')
  const header = (name: string): string | undefined => new RegExp(`^${name}: (.*?)\\r?$`, 'im').exec(head)?.[1]
  const status = Number(/^HTTP\/1\.1 (\d+)/.exec(head)?.[1])
  const code = /^\{"error":\{"code":"(\w+)","message":"[^"]+/.exec(body)?.[1]
  return { status, type: header('content-type'), cached: header('cache-control'), allow: header('allow'), code }
}

describeNginx('The shipped nginx', () => {
  test('answers any request as the API does: the same statuses, and errors in JSON', async () => {
    const answers = async (port: number) => {
      const all = edges.map(async ([name, bytes]) => [name, await answerTo(port, bytes())] as const)
      return Object.fromEntries(await Promise.all(all))
    }
    const [direct, passed] = await Promise.all([answers(api.port), answers(portOf(nginx))])
    expect(passed).toEqual(direct)
    expect(direct['a URL of 8192 bytes']).toMatchObject({ status: 200 })
    expect(direct['a header of 15000 bytes']).toMatchObject({ status: 200 })
  })

  test('refuses malformed requests with 400 in JSON', async () => {
    const refused = { status: 400, type: 'application/json; charset=utf-8', code: 'bad_request' }
    const lines = [`get ${path}`, 'M-SEARCH-2 /', 'CONNECT example.com:443', 'GET /%ZZ', 'GET *']
    for (const bytes of [...lines.map((line) => request(line)), withHost('Host:\r\n')])
      expect(await answerTo(portOf(nginx), bytes)).toMatchObject(refused)
  })

  test('counts a request once against the limit of its key, also when the answer is 503', async () => {
    const other = await api.startAnother()
    const both = [api, other].map(({ port }) => `server 127.0.0.1:${port} max_fails=0;`).join(' ')
    await nginx.reload((port) => shipped(port, both))
    await api.elasticsearch.refuse()
    const left = async (port: number, limit: number): Promise<number> => {
      const read = await sendRaw(port, request(`GET ${path}?limit=${limit}`))
      expect(read).toMatch(/^HTTP\/1\.1 503 /)
      return Number(/^RateLimit: .*?;r=(\d+)/im.exec(read)?.[1])
    }
    const before = await left(api.port, 11)
    const limits = [12, 13, 14, 15, 16]
    for (const limit of limits) await left(portOf(nginx), limit)
    expect(before - (await left(api.port, 17))).toBe(limits.length + 1)
  })

  test('writes no page to a disk while its client reads slowly', async () => {
    const ask = async (): Promise<IncomingMessage> => {
      const headers = { authorization: `Bearer ${api.keyOf(large)}` }
      const sent = get({ port: portOf(nginx), path: '/api/v1/records?limit=100', headers, agent: false })
      return ((await once(sent, 'response')) as [IncomingMessage])[0]
    }
    const slow = await ask()
    // Read as far as it arrives, of one process and one thread: whatever nginx does with the slow one it has done by now.
    const whole = await text(await ask())
    expect(whole.length).toBeGreaterThan(1_400_000)
    await eventually(async () => (await nginx.read('tidemark.log')).includes('/api/v1/records 200'))
    expect(await nginx.read('tidemark-error.log')).not.toMatch(/buffered to a temporary file/)
    expect((await text(slow)) === whole).toBe(true)
  })
})
