import { request } from 'node:http'
import { serveAdmin } from '../../src/core/process/adminServer.ts'
import { portOf, type ResettingServer, stopServing } from '../../src/core/process/httpServer.ts'
import { useApi } from '../support/api.ts'
import { submissionEntity } from '../support/entities.ts'
import { recordHeaderReads } from '../support/headerReads.ts'
import { useSettings, type Visitor } from '../support/settings.ts'

/** Every header that any code reads: of the API, of the settings area, of an admin port, of a library under them. */
const readHeaders = [
  ...['accept', 'accept-encoding', 'accept-language', 'authorization', 'connection', 'content-encoding'],
  ...['content-length', 'content-type', 'cookie', 'expect', 'host', 'if-none-match', 'origin', 'prefer'],
  ...['sec-fetch-site', 'transfer-encoding', 'upgrade'],
]
/** Node itself judges these: another value is no request, or another kind of connection. */
const judgedByNode = ['connection', 'content-length', 'transfer-encoding', 'upgrade']

const begins = ['', '"', 'a=']
const ownBegins: Readonly<Record<string, string>> = {
  ...{ accept: 'text/csv;x=', authorization: 'Bearer rqp_acct_', cookie: 'tidemark-session=' },
  ...{ 'content-type': 'application/x-www-form-urlencoded;x=', host: 'localhost', prefer: 'wait="' },
}
const pieces = ['"', '\\"', '"",', ',', ';', '; ', ' ', 'a ', 'a,', 'a;', '="', '-']
/** Node's server accepts 16 KiB of headers. */
const hostileBytes = 15_600
/** A request may cost so many times the CPU of a plain one; a collection of garbage costs up to twenty. Those that froze a process cost 90 to 420 times as much. */
const mostRatio = 40
const attempts = 8

type Target = {
  readonly name: string
  readonly port: number
  readonly path: string
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

const appendedAt = '2026-11-21T10:00:00.000Z'
const reads = recordHeaderReads()
const api = useApi({
  submissions: [{ team: 'team-1', id: 'known', entity: submissionEntity({ id: 'known' }), appendedAt }],
  watermark: '2026-11-21T10:00:00.123Z',
})
const { area: settings } = useSettings()
let owner: Visitor
let admin: ResettingServer
beforeAll(async () => {
  owner = await settings.signIn()
  const page = async () => ({ status: 200, headers: {}, body: 'here it is' })
  admin = await serveAdmin({ host: '127.0.0.1', port: 0, allowedHosts: [] }, new Map([['/metrics', page]]))
})
afterAll(async () => {
  reads.stop()
  await stopServing(admin)
})

const targets = {
  api: (): Target[] => {
    const authorization = `Bearer ${api.key}`
    const ofApi = (path: string, headers: Target['headers']): Target => ({
      name: `GET ${path}${'authorization' in headers ? '' : ' without a key'}`,
      ...{ port: api.port, path, headers },
    })
    const routes = ['records?changedSince=2026-11-21', 'records/known', 'record-counts?by=day']
    return [
      ...routes.map((route) => ofApi(`/api/v1/${route}`, { authorization })),
      ofApi('/api/v1/records', { authorization, accept: 'text/csv' }),
      ...['/api/v1/records', '/docs'].map((path) => ofApi(path, {})),
      ofApi('/', { accept: 'text/html' }),
    ]
  },
  'the settings area': (): Target[] => {
    const { port } = new URL(settings.origin)
    const cookie = [...owner.jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const form = { origin: settings.origin, 'content-type': 'application/x-www-form-urlencoded', cookie }
    const ofSettings = (path: string, headers: Target['headers'], more: Partial<Target> = {}): Target => ({
      name: `${more.method ?? 'GET'} ${path}${'cookie' in headers ? '' : ' without a session'}`,
      ...{ port: Number(port), path, headers, ...more },
    })
    return [
      ofSettings('/sign-in?token=none', {}),
      ofSettings('/keys', { cookie }),
      ofSettings('/keys', form, { method: 'POST', body: 'csrf=none' }),
    ]
  },
  'an admin port': (): Target[] => [{ name: 'GET /metrics', port: portOf(admin), path: '/metrics', headers: {} }],
} as const

/** The CPU that this process spends on a request, its client included. */
async function cpuOf(target: Target, hostile: Readonly<Record<string, string>>): Promise<number> {
  const before = process.cpuUsage()
  await new Promise<void>((resolve, reject) => {
    const { port, path, method, body } = target
    const headers = { ...target.headers, ...hostile }
    const sent = request({ port, path, method, headers, agent: false }, (response) => {
      response.on('error', reject).on('end', resolve).resume()
    })
    sent.on('error', reject).end(body)
  })
  const { user, system } = process.cpuUsage(before)
  return user + system
}

/** The middle one of many, each with as many bytes of a header that nobody reads. */
async function plainCpu(target: Target): Promise<number> {
  const costs: number[] = []
  for (let at = 0; at < 31; at++) costs.push(await cpuOf(target, { 'x-nobody': 'a'.repeat(hostileBytes) }))
  return costs.sort((a, b) => a - b)[15] ?? 0
}

/** How many times the CPU of a plain request one costs; of several attempts the best one, because others use the process as well. */
async function ratioOf(target: Target, plain: number, hostile: Readonly<Record<string, string>>): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let attempt = 0; attempt < attempts && best > mostRatio; attempt++)
    best = Math.min(best, (await cpuOf(target, hostile)) / plain)
  return best
}

function* hostileValues(name: string): Generator<string> {
  const own = ownBegins[name]
  for (const begin of own === undefined ? begins : [...begins, own])
    for (const piece of pieces) {
      const value = begin + piece.repeat(Math.floor((hostileBytes - begin.length) / piece.length))
      // A client leaves out spaces at the ends.
      yield piece.includes(' ') ? `${value}x` : value
    }
}

test.each(Object.entries(targets))(
  '%s: no header makes a request cost many times the CPU of a plain one, and no other header is read',
  async (_which, targetsOf) => {
    const dear: string[] = []
    for (const target of targetsOf()) {
      reads.names.clear()
      const plain = await plainCpu(target)
      expect([...reads.names].filter((name) => !readHeaders.includes(name))).toEqual([])
      const tried = readHeaders.filter((each) => !judgedByNode.includes(each))
      for (const name of tried.filter((each) => each === 'expect' || reads.names.has(each)))
        for (const value of hostileValues(name)) {
          const ratio = await ratioOf(target, plain, { [name]: value })
          if (ratio > mostRatio) dear.push(`${target.name}: ${name}: ${value.slice(0, 24)}… costs ${Math.round(ratio)}`)
        }
    }
    expect(dear).toEqual([])
    expect([...reads.names].filter((name) => !readHeaders.includes(name))).toEqual([])
    expect(reads.names).toContain('host')
  },
)
