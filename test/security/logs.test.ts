import { Redis } from 'ioredis'
import { digestOf } from '../../src/core/model/accountKey.ts'
import { refusesDocuments } from '../support/bulkFaults.ts'
import { answersWith, jsonAnswer } from '../support/elasticsearchFaults.ts'
import { eventually } from '../support/eventually.ts'
import { startFaultyElasticsearch } from '../support/faultyElasticsearch.ts'
import { useStarted } from '../support/lifecycle.ts'
import { usePipeline } from '../support/pipeline.ts'
import { type Program, runCommand, startProgram, untilReady } from '../support/programs.ts'
import { stateRecord } from '../support/randomHistory.ts'
import { plaintextIn } from '../support/settings.ts'
import { signInClaims, signInSettings, signToken } from '../support/signIns.ts'

/** No log line and no page of an admin port holds it, wherever it was put. */
const canary = 'canary'
const yellow = (where: string): string => `${canary}-${where}`
/** Redis 7 and later say themselves whom they refuse; a user's name is no secret. */
const redisUser = 'logs-test'

const pipeline = usePipeline()
const elasticsearch = useStarted('the proxy', () => startFaultyElasticsearch())
let keeper: Redis
let indexer: Program
let api: Program
let area: Program
let programs: readonly Program[]

const allowRedis = (): Promise<unknown> =>
  keeper.call('ACL', 'SETUSER', redisUser, 'reset', 'on', '~*', '+@all', `>${yellow('redis-password')}`)

beforeAll(async () => {
  keeper = new Redis(process.env['REDIS_URL'] ?? '')
  await allowRedis()
  indexer = await startProgram('indexer', settings())
  api = await startProgram('api', { ...settings(), DEEP_PAGE_FROM: '1' })
  area = await startProgram('settings', settings())
  programs = [indexer, api, area]
  await untilReady(indexer)
  await pipeline.createKeys(['acme'])
  await Promise.all([api, area].map(untilReady))
})
afterEach(async () => {
  await elasticsearch.restore()
  await allowRedis()
})
afterAll(async () => {
  await keeper?.call('ACL', 'DELUSER', redisUser)
  keeper?.disconnect()
})

const settings = (): Record<string, string> => {
  const redis = new URL(process.env['REDIS_URL'] ?? '')
  redis.username = redisUser
  redis.password = yellow('redis-password')
  return {
    ...pipeline.names,
    ...signInSettings,
    LOG_LEVEL: 'trace',
    REDIS_URL: redis.href,
    ELASTICSEARCH_URL: elasticsearch.url.replace('//', `//${yellow('user')}:${yellow('url-password')}@`),
  }
}
const text = JSON.stringify
const ofPerson = {
  data: { q1: yellow('answer'), [yellow('name-of-answer')]: 1 },
  examinee: { name: yellow('person'), email: yellow('mail'), customData: { [yellow('custom')]: yellow('data') } },
}
/** Of the form, in its newest record. */
let revision = 2
const form = (revision: number, changes: Record<string, unknown> = {}) =>
  stateRecord('forms', 'acme/form-1', revision, { title: yellow('title'), ...changes })
const submission = (changes: Record<string, unknown> = {}) =>
  stateRecord('submissions', 'acme/record-1', 1, { ...ofPerson, ...changes })

async function visit(area: Program): Promise<void> {
  const token = await signToken(signInClaims(Date.now(), { jti: yellow(String(Math.random())) }))
  const signedIn = await fetch(`${area.url}/sign-in?token=${token}`, { redirect: 'manual' })
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? ''
  const page = await (await fetch(`${area.url}/keys`, { headers: { cookie } })).text()
  const hidden = (name: string): string => new RegExp(`name="${name}" value="([^"]*)"`).exec(page)?.[1] ?? ''
  const [csrf, once] = [hidden('csrf'), hidden('once')]
  const body = new URLSearchParams({ csrf, once, name: yellow('key-name'), expires: '' })
  const created = await fetch(`${area.url}/keys`, { method: 'POST', headers: { cookie, origin: area.url }, body })
  const made = [token, cookie.split('=')[1] ?? '', csrf, once, plaintextIn({ text: await created.text() })]
  secrets.push(...made.filter((secret) => secret !== ''))
  // Who changes a key is logged; who only signs in is not.
  for (const other of [await signToken(signInClaims(Date.now(), { sub: yellow('owner') })), yellow('token')])
    await fetch(`${area.url}/sign-in?token=${other}`, { redirect: 'manual' })
}

async function ask(api: Program): Promise<Set<number>> {
  const statuses = new Set<number>()
  const asked: [string, Record<string, string>][] = [
    [`/api/v1/forms?titleContains=${yellow('title')}`, {}],
    [`/api/v1/forms?limit=${yellow('limit')}&${yellow('parameter')}=1`, {}],
    [`/api/v1/records?page=2&limit=1&${yellow('parameter')}=1`, {}],
    [`/api/v1/forms/${yellow('id')}?${yellow('parameter')}=1`, {}],
    [`/${yellow('path')}`, {}],
    ['/api/v1/forms', { authorization: `Bearer rqp_acct_${yellow('key')}` }],
    ['/api/v1/forms', { authorization: `Basic ${yellow('basic')}` }],
    ['/api/v1/forms', { 'x-api-key': yellow('header') }],
  ]
  for (const [path, headers] of asked) {
    const authorization = `Bearer ${pipeline.keyOf('acme')}`
    statuses.add((await fetch(api.url + path, { headers: { authorization, ...headers } })).status)
  }
  return statuses
}

/** Everything that the admin ports and commands have told so far. */
const told: string[] = []
async function adminPages(): Promise<string> {
  const paths = ['readyz', 'livez', 'metrics', 'status']
  const pages = programs.flatMap(({ adminUrl }) =>
    paths.map(async (path) => await (await fetch(`${adminUrl}/${path}`)).text()),
  )
  told.push(...(await Promise.all(pages)))
  return told.slice(-pages.length).join('\n')
}
const untilReported = (text: string): Promise<void> => eventually(async () => (await adminPages()).includes(text))

const writeDeadLetter = (): Promise<number> => indexer.metric('tidemark_records_total', '"dead-letter"')

/** Keys, and what owners sign in and send forms with. */
const secrets: string[] = []
beforeAll(() => {
  secrets.push(pipeline.keyOf('acme'))
})

// After each test, whatever went wrong in it.
afterEach(() => {
  const logs = programs.map((program) => program.log())
  expect(logs).not.toContain('')
  for (const text of [...logs, ...told]) {
    expect(text.split('\n').filter((line) => line.includes(canary))).toEqual([])
    for (const secret of secrets) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(digestOf(secret))
    }
  }
})

describe('No key, no password and no text that people wrote is in a log or a probe', () => {
  test('while all engines work, and records and requests are wrong', async () => {
    const broken = { key: 'acme/form-2', value: yellow('json') }
    await pipeline.produce('forms', [form(1), form(2, { createdAt: yellow('date') }), broken])
    const odd = submission({ status: yellow('status'), [yellow('field')]: 1 })
    await pipeline.produce('submissions', [submission(), odd])
    const key = text({ revision: 1, key: { name: yellow('name') } })
    await pipeline.produce('account-keys', [{ key: 'acme/k2', value: key }])
    await eventually(async () => (await writeDeadLetter()) >= 3)
    await pipeline.untilApplied(api, 'acme')
    expect(await ask(api)).toEqual(new Set([200, 400, 401, 404]))
    await visit(area)
    const create = ['create', '--team', 'acme', '--name', yellow('name')]
    const created = await runCommand('keys', create, settings())
    expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/\w/), stderr: expect.stringMatching(/\w/) })
    secrets.push(created.stdout.trim())
    told.push(created.stderr)
    await adminPages()
  })

  const error = { type: 'mapper_parsing_exception', reason: yellow('reason') }
  const noJson = { ...jsonAnswer(200, {}), body: Buffer.from(yellow('broken')) }
  test.each([
    ['answers 500', '500 mapper_parsing_exception', jsonAnswer(500, { error }), [503]],
    ['answers what is no JSON', 'DeserializationError', noJson, []],
  ])('while Elasticsearch %s', async (_, wanted, answer, answered) => {
    elasticsearch.inject('/', answersWith(answer))
    await pipeline.produce('forms', [form(++revision)])
    await untilReported(wanted)
    const statuses = await ask(api)
    for (const status of answered) expect(statuses).toContain(status)
  })

  test('while Elasticsearch refuses documents, quoting them', async () => {
    elasticsearch.inject(
      '/_bulk',
      refusesDocuments(() => 503),
    )
    await pipeline.produce('forms', [form(++revision)])
    await untilReported('503 unavailable_shards_exception')
  })

  test('when a document that Elasticsearch always refuses becomes a dead letter', async () => {
    const before = await writeDeadLetter()
    elasticsearch.inject(
      '/_bulk',
      refusesDocuments(() => 400),
    )
    await pipeline.produce('forms', [form(++revision)])
    await eventually(async () => (await writeDeadLetter()) > before)
    const letters = await runCommand('dead-letters', ['list'], settings())
    expect(letters.stdout).toContain('document 400 document_parsing_exception')
    told.push(letters.stdout)
  })

  test('while Elasticsearch is away', async () => {
    await elasticsearch.refuse()
    await pipeline.produce('forms', [form(++revision)])
    expect(await ask(api)).toContain(503)
    await adminPages()
  })

  test('while Redis refuses scripts and writes', async () => {
    await keeper.call('ACL', 'SETUSER', redisUser, '-eval', '-evalsha', '-set', '-mget', '-hset')
    await pipeline.produce('account-keys', [form(1)])
    await pipeline.createKeys(['other'])
    await eventually(() => indexer.log().includes('applying an account key failed'))
    expect(await ask(api)).toEqual(new Set([401, 503]))
    await visit(area)
    await adminPages()
  })

  test('while Redis refuses the password', async () => {
    await keeper.call('ACL', 'SETUSER', redisUser, 'resetpass', `>${yellow('another')}`)
    await keeper.call('CLIENT', 'KILL', 'USER', redisUser)
    await eventually(() => programs.every((program) => program.log().includes('WRONGPASS')))
    await ask(api)
    await visit(area)
    await adminPages()
    const refused = await runCommand('keys', ['list', '--team', 'acme'], settings())
    expect(refused).toMatchObject({ code: 78, stderr: expect.stringMatching(/\w/) })
    told.push(refused.stderr)
  })
})
