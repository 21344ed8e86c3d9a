import { request } from 'node:http'
import { serveAdmin } from '../../src/core/http/adminServer.ts'
import { portOf, type ResettingServer, stopServing } from '../../src/core/http/httpServer.ts'
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
const headerBytes = 15_600
/** Longer URLs are refused unread by the API. */
const urlBytes = 8_000
/** Longer forms are. */
const formBytes = 16_000
/** A key may ask so often in a minute, all at once. */
const atOnce = 120
/** So long may that hold another team up: what each of these requests costs besides what a plain one does. */
const mostHeldUpMs = 300
const attempts = 8
/** What `work` takes (ms of processor time) where nothing shares the core; it took 1.5 where another process did. */
const usualWorkMs = 0.75
/** Measured together, because the clock of processor time may move in steps of 4 ms. */
const batch = 5
const workRuns = 20
const plainRequests = 40

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
let own: Awaited<ReturnType<Visitor['hidden']>>
let admin: ResettingServer
beforeAll(async () => {
  owner = await settings.signIn()
  own = await owner.hidden()
  const page = async () => ({ status: 200, headers: {}, body: 'here it is' })
  admin = await serveAdmin({ host: '127.0.0.1', port: 0, allowedHosts: [] }, new Map([['/metrics', page]]))
})
afterAll(async () => {
  reads.stop()
  await stopServing(admin)
})

const routes = [
  ...['records?changedSince=2026-11-21', 'records/known', 'record-counts?by=day', 'forms?limit=1'],
  'record-changes?cursor=latest',
]

const ofApi = (path: string, headers: Target['headers']): Target => ({
  name: `GET ${path}${'authorization' in headers ? '' : ' without a key'}`,
  ...{ port: api.port, path, headers },
})

function ofSettings(path: string, headers: Target['headers'], more: Partial<Target> = {}): Target {
  const name = `${more.method ?? 'GET'} ${path}${'cookie' in headers ? '' : ' without a session'}`
  return { name, port: Number(new URL(settings.origin).port), path, headers, ...more }
}

const targets = {
  api: (): Target[] => {
    const authorization = `Bearer ${api.key}`
    return [
      ...routes.map((route) => ofApi(`/api/v1/${route}`, { authorization })),
      ofApi('/api/v1/records', { authorization, accept: 'text/csv' }),
      ...['/api/v1/records', '/docs'].map((path) => ofApi(path, {})),
      ofApi('/', { accept: 'text/html' }),
    ]
  },
  'the settings area': (): Target[] => {
    const { cookie, form } = ofOwner()
    return [
      ofSettings('/sign-in?token=none', {}),
      ofSettings('/keys', { cookie }),
      ofSettings('/keys', form, { method: 'POST', body: 'csrf=none' }),
    ]
  },
  'an admin port': (): Target[] => [{ name: 'GET /metrics', port: portOf(admin), path: '/metrics', headers: {} }],
} as const

function ofOwner() {
  const cookie = [...owner.jar].map(([name, value]) => `${name}=${value}`).join('; ')
  return { cookie, form: { origin: settings.origin, 'content-type': 'application/x-www-form-urlencoded', cookie } }
}

/** What a client may repeat in a path, a query or a form. */
const textPieces = [
  ...[
    'a',
    '1',
    '-',
    ',',
    '.',
    '/',
    ':',
    ';',
    '+',
    '=',
    '&',
    '?',
    '%',
    '%25',
    '%2F',
    '%00',
    '%ff',
    '[',
    'a/',
    '../',
    'a-',
  ],
  ...[
    '&x',
    '&limit',
    '&answer.q=a',
    '&__proto__',
    '&language',
    'data.a,',
    'id,',
    'a%20',
    '%0A',
    '%7B%22a%22:',
    'e%CC%81',
  ],
  ...['%F0%9F%98%80', '%CC%81', '%E3%81%8B%E3%82%99', '%ED%95%9C', '%EF%B7%BA', '%E4%B8%AD'],
]
/** How parts of which each differs from all others begin and end. */
const distinctParts = [
  ['', '&'],
  ['answer.', '=&'],
  ['answer.q=', '&'],
  ['data.', ','],
] as const

/** Each of the beginnings, followed by parts of one kind up to a length. */
function* hostileTexts(beginnings: readonly string[], bytes: number): Generator<string> {
  for (const begin of beginnings) {
    for (const piece of textPieces) yield begin + piece.repeat(Math.floor((bytes - begin.length) / piece.length))
    for (const [before, after] of distinctParts) {
      let text = begin
      for (let at = 0; text.length < bytes; at++) text += before + at.toString(36) + after
      yield text.slice(0, bytes)
    }
  }
}

/** A plain request, and the hostile ones that are held against it: the texts of which each is made, and how. */
type Kind = { readonly plain: Target; readonly texts: Iterable<string>; targetOf(text: string): Target }

const chosen = {
  'the API': (): Kind[] => {
    const ofKey = { authorization: `Bearer ${api.key}` }
    const ofHtml = { accept: 'text/html' }
    const kind = (plain: string, headers: Target['headers'], ...begins: readonly string[]): Kind => ({
      plain: ofApi(plain, headers),
      texts: hostileTexts(begins, urlBytes),
      targetOf: (path) => ofApi(path, headers),
    })
    const [forms, records, counts] = ['/api/v1/forms?', '/api/v1/records?', '/api/v1/record-counts?by=day&']
    const changes = '/api/v1/record-changes?'
    return [
      kind(forms, ofKey, forms, `${forms}titleContains=`),
      kind(records, ofKey, records, `${records}fields=`, `${records}page=2&limit=1&x=`),
      kind(counts, ofKey, counts, `${counts}timeZone=`, `${counts}level=`),
      kind(`${changes}cursor=latest`, ofKey, changes, `${changes}cursor=`, `${changes}cursor=latest&fields=`),
      kind('/api/v1/records/known', ofKey, '/', 'http://', '/api/v1/', '/api/v1/records/', '/api/v1/records/known?'),
      kind('/docs', {}, '/docs?', '/docs'),
      kind('/', ofHtml, '/?', '/?language=', '/explore?'),
    ]
  },
  'the settings area': (): Kind[] => {
    const { cookie, form } = ofOwner()
    const kind = (plain: string, headers: Target['headers'], ...begins: readonly string[]): Kind => ({
      plain: ofSettings(plain, headers),
      texts: hostileTexts(begins, headerBytes - JSON.stringify(headers).length),
      targetOf: (path) => ofSettings(path, headers),
    })
    const post = (body: string) => ofSettings('/keys', form, { method: 'POST', body })
    const secrets = `csrf=${own.csrf}&once=${own.once}`
    return [
      kind('/keys', { cookie }, '/', '/keys?', '/keys?notice=', '/keys/'),
      kind('/sign-in?token=none', {}, '/sign-in?', '/sign-in?token=', `/sign-in?token=${anyHeader}.`, '/?language='),
      {
        plain: post(`${secrets}&name=`),
        texts: hostileTexts(
          ['', 'csrf=', `csrf=${own.csrf}&once=`, `${secrets}&name=`, `${secrets}&name=a&expires=`],
          formBytes,
        ),
        targetOf: post,
      },
    ]
  },
} as const

const anyHeader = Buffer.from('{"alg":"HS256"}').toString('base64url')

async function ask({ port, path, method, body, ...target }: Target, more: Target['headers']): Promise<void> {
  const headers = { ...target.headers, ...more }
  await new Promise<void>((resolve, reject) => {
    const sent = request({ port, path, method, headers, agent: false }, (response) => {
      response.on('error', reject).on('end', resolve).resume()
    })
    sent.on('error', reject).end(body)
  })
}

/** The processor time (ms) that this process spends on a request, its client included. */
async function cpuOf(target: Target, headers: Target['headers'], count = batch): Promise<number> {
  const before = process.cpuUsage()
  for (let at = 0; at < count; at++) await ask(target, headers)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000 / count
}

const workPieces = Array.from({ length: 2_000 }, (_, at) => `a${at}=b%20${at}`).join('&')

/** Reads and renders text, as a request does. */
function work(): number {
  const found = new Map<string, number>()
  for (const [name, value] of new URLSearchParams(workPieces)) found.set(name, JSON.stringify([value, name]).length)
  return found.size
}

/** How many times as long as usual this machine takes now: what the same request costs doubles while another process shares its core. */
function slowness(): number {
  const before = process.cpuUsage()
  for (let at = 0; at < workRuns; at++) work()
  const { user, system } = process.cpuUsage(before)
  return Math.max(1, (user + system) / 1_000 / workRuns / usualWorkMs)
}

/**
 * How long so many requests at once would hold others up on a core of their own; of several attempts the best one, because others use the process
 * as well.
 */
async function heldUpMs(target: Target, plainMs: number, headers: Target['headers'] = {}): Promise<number> {
  const startedMs = performance.now()
  await ask(target, headers)
  let best = performance.now() - startedMs - plainMs
  for (let attempt = 0; attempt < attempts && atOnce * best > mostHeldUpMs; attempt++)
    best = Math.min(best, ((await cpuOf(target, headers)) - plainMs) / slowness())
  return Math.round(atOnce * best)
}

function* hostileValues(name: string): Generator<string> {
  const own = ownBegins[name]
  for (const begin of own === undefined ? begins : [...begins, own])
    for (const piece of pieces) {
      const value = begin + piece.repeat(Math.floor((headerBytes - begin.length) / piece.length))
      // A client leaves out spaces at the ends.
      yield piece.includes(' ') ? `${value}x` : value
    }
}

test.each(Object.entries(targets))(
  '%s: 120 concurrent requests with any header delay others only briefly, and the API reads no other headers',
  async (_which, targetsOf) => {
    const dear: string[] = []
    for (const target of targetsOf()) {
      reads.names.clear()
      // With as many bytes of a header that nobody reads.
      const plainMs = await cpuOf(target, { 'x-nobody': 'a'.repeat(headerBytes) }, plainRequests)
      expect([...reads.names].filter((name) => !readHeaders.includes(name))).toEqual([])
      const tried = readHeaders.filter((each) => !judgedByNode.includes(each))
      for (const name of tried.filter((each) => each === 'expect' || reads.names.has(each)))
        for (const value of hostileValues(name)) {
          const ms = await heldUpMs(target, plainMs, { [name]: value })
          if (ms > mostHeldUpMs) dear.push(`${target.name}: ${name}: ${value.slice(0, 24)}…: ${ms} ms`)
        }
    }
    expect(dear).toEqual([])
    expect([...reads.names].filter((name) => !readHeaders.includes(name))).toEqual([])
    expect(reads.names).toContain('host')
  },
)

test.each(Object.entries(chosen))(
  '%s: 120 concurrent requests with any path, query or form delay others only briefly',
  async (_which, kinds) => {
    const dear: string[] = []
    for (const { plain, texts, targetOf } of kinds()) {
      const plainMs = await cpuOf(plain, {}, plainRequests)
      for (const text of texts) {
        const ms = await heldUpMs(targetOf(text), plainMs)
        if (ms > mostHeldUpMs) dear.push(`${plain.name}: ${text.slice(0, 64)}…: ${ms} ms`)
      }
    }
    expect(dear).toEqual([])
  },
)
