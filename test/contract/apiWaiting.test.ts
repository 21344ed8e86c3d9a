import type { EntityType } from '../../src/core/model/ids.ts'
import { type TestAnswer, type TestRequest, useApi } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { startRelay } from '../support/relay.ts'

const maxOfTeam = 10
const [team, otherTeam] = ['team-1', 'team-2']
const [before, watermark, later] = ['2026-11-21T09:00:00.000Z', '2026-11-21T10:00:00.000Z', '2026-11-21T10:00:05.000Z']
const ndjson = 'application/x-ndjson'
const records = `/api/v1/records?changedSince=${watermark}`
const [page, whole, table] = [{}, { accept: ndjson }, { accept: 'text/csv' }]

let aheadMs = 0
const api = useApi({
  teams: [team, otherTeam],
  forms: [{ team, id: 'old', entity: formEntity({ id: 'old' }), appendedAt: before }],
  submissions: [{ team, id: 'old', entity: submissionEntity({ id: 'old' }), appendedAt: before }],
  elapsedMs: () => performance.now() + aheadMs,
})
const endWaits = (): void => {
  aheadMs += 60_000
}
beforeEach(() => api.replica.publishWatermark(watermark))
const close = closing()
const added: (() => Promise<void>)[] = []
afterEach(async () => {
  // The next test shall find nothing new.
  for (const remove of added.splice(0)) await remove()
  await api.untilWaiting(0)
})

const prefer = (wait: string, headers: Readonly<Record<string, string>> = {}): TestRequest => ({
  headers: { prefer: wait, ...headers },
})

let last = 0
/** What an indexer makes visible: another form or submission, and then a new change token. Returns its id. */
async function add(type: EntityType, of = team, changes: Readonly<Record<string, unknown>> = {}): Promise<string> {
  const id = `new-${++last}`
  const store = (entity: Readonly<Record<string, unknown>> | null): Promise<void> => {
    const record = { team: of, id, entity, appendedAt: later }
    return type === 'forms' ? api.replica.storeForms(record) : api.replica.storeSubmissions(record)
  }
  await store(type === 'forms' ? formEntity({ ...changes, id }) : submissionEntity({ ...changes, id }))
  const replaceToken = (): Promise<void> => api.replica.replaceChangeToken(`${type}/${of}`)
  await replaceToken()
  added.push(async () => {
    await store(null)
    await replaceToken()
  })
  return id
}

const applied = ({ status, headers }: TestAnswer): unknown => [status, headers['preference-applied']]

const forms = ['a page', 'an export', 'a table'].map((what, at) => [what, [page, whole, table][at] ?? page] as const)

describe.each([
  ['forms', '/api/v1/forms'],
  ['submissions', '/api/v1/records'],
] as const)('a list of %s', (type, path) => {
  const target = `${path}?changedSince=${watermark}`

  test.each(forms)('%s is held until something has changed, and comes at once afterwards', async (_what, headers) => {
    const held = api.get(target, prefer('wait=60', headers))
    await api.untilWaiting(1)
    const id = await add(type)
    for (const answer of [await held, await api.get(target, prefer('wait=60', headers))]) {
      expect(applied(answer)).toEqual([200, 'wait=60'])
      expect(answer.text).toContain(id)
    }
  })
})

test.each(forms)(
  '%s: who names the last answer is not told of it again, while the watermark stands still or moves on',
  async (_what, headers) => {
    const known = await add('submissions')
    for (const since of [watermark, watermark, later]) {
      const { headers: last } = await api.get(records, { headers })
      const target = `/api/v1/records?changedSince=${since}`
      const answer = api.get(target, prefer('wait=60', { ...headers, 'if-none-match': last['etag'] ?? '' }))
      await api.untilWaiting(1)
      const id = await add('submissions')
      expect(applied(await answer)).toEqual([200, 'wait=60'])
      for (const each of [known, id]) expect((await answer).text).toContain(each)
    }
  },
)

test('who names the answer to another question, or to a shorter window, is told of what there is', async () => {
  const { headers: other } = await api.get(`${records}&formId=form-2`)
  const { headers: shorter } = await api.get(`/api/v1/records?changedSince=${later}`)
  const id = await add('submissions', team, { formId: 'form-1' })
  const { headers: after } = await api.get(`/api/v1/records?changedSince=2026-11-21T10:00:05.001Z`)
  for (const etag of [other['etag'], shorter['etag'], after['etag']]) {
    const answer = await api.get(records, prefer('wait=60', { 'if-none-match': etag ?? '' }))
    expect([applied(answer), answer.text]).toEqual([[200, 'wait=60'], expect.stringContaining(id)])
  }
})

test('when the time of a wait is over, its answer is empty, or 304, with the watermark of then', async () => {
  const etag = (await api.get(records)).headers['etag'] ?? ''
  const answers = [
    api.get(`/api/v1/forms?changedSince=${watermark}`, prefer('wait=60')),
    api.get(records, prefer('wait=60')),
    api.get(records, prefer('wait=60', whole)),
    api.get(records, prefer('wait=60', { 'if-none-match': etag })),
  ]
  await api.untilWaiting(answers.length)
  await api.replica.advanceWatermark(later)
  endWaits()
  const ended = await Promise.all(answers)
  expect(ended.map(applied)).toEqual([200, 200, 200, 304].map((status) => [status, 'wait=60']))
  expect(ended.map(({ headers }) => headers['replica-watermark'])).toEqual(ended.map(() => later))
  const nothing = { totalDocs: 0, page: 1, limit: 20, items: [] }
  expect(ended.map(({ json, text }) => json ?? text)).toEqual([nothing, nothing, '', ''])
})

test('a deletion ends a wait when deletions are asked for', async () => {
  // Later than those of other tests.
  const [since, deletedAt] = ['2026-11-21T10:00:10.000Z', '2026-11-21T10:00:20.000Z']
  const answer = api.get(`/api/v1/records?changedSince=${since}&includeDeleted=true`, prefer('wait=60', whole))
  await api.untilWaiting(1)
  await api.replica.storeSubmissions({ team, id: 'deleted', entity: null, appendedAt: deletedAt })
  await api.replica.replaceChangeToken(`submissions/${team}`)
  expect(applied(await answer)).toEqual([200, 'wait=60'])
  expect(JSON.parse((await answer).text)).toEqual({ id: 'deleted', deleted: true })
})

test('HEAD is held like GET', async () => {
  const answer = api.get(records, { method: 'HEAD', ...prefer('wait=60') })
  await api.untilWaiting(1)
  await add('submissions')
  expect(applied(await answer)).toEqual([200, 'wait=60'])
})

test('changes that the filter leaves out, or of another team or list, do not end a wait', async () => {
  const answer = api.get(`${records}&formId=form-2`, prefer('wait=60'))
  await api.untilWaiting(1)
  await add('submissions')
  await add('submissions', otherTeam)
  await add('forms')
  await add('submissions')
  await api.untilWaiting(1)
  const id = await add('submissions', team, { formId: 'form-2' })
  expect((await answer).json).toMatchObject({ totalDocs: 1, items: [{ id }] })
})

test('a request goes on waiting when other indices serve, as long as they hold nothing new either', async () => {
  const answer = api.get(records, prefer('wait=60'))
  await api.untilWaiting(1)
  await api.replica.disturb('switched')
  const id = await add('submissions')
  expect((await answer).json).toMatchObject({ totalDocs: 1, items: [{ id }] })
})

test('a request that waits is answered 503 when Redis has lost the watermark', async () => {
  const answer = api.get(records, prefer('wait=60'))
  await api.untilWaiting(1)
  await api.replica.disturb('flushed')
  expect(applied(await answer)).toEqual([503, undefined])
})

test.each([
  ['without changedSince', '/api/v1/records?formId=none', 'wait=60'],
  ['on a single record', '/api/v1/records/old', 'wait=60'],
  ['that cannot be applied', records, 'wait=61'],
])('a preference %s is ignored', async (_which, target, preference) => {
  expect(applied(await api.get(target, prefer(preference)))).toEqual([200, undefined])
})

test('a key that is revoked while nothing changes gets its 401 at once', async () => {
  const key = await api.replica.storeKey(team, { id: 'revoked-2' })
  const answers = [page, whole].map((headers) => api.get(records, { ...prefer('wait=60', headers), key }))
  const other = api.get(records, prefer('wait=60'))
  await api.untilWaiting(3)
  await api.replica.storeKey(team, { id: 'revoked-2', plaintext: key, state: 'revoked', revision: 2 })
  for (const answer of answers) {
    expect(applied(await answer)).toEqual([401, undefined])
    expect((await answer).json).toMatchObject({ error: { code: 'unauthorized' } })
  }
  await api.untilWaiting(1)
  endWaits()
  expect(applied(await other)).toEqual([200, 'wait=60'])
})

test('ten of a team wait in a process, and any further one is answered at once; who disconnects leaves a place', async () => {
  const gone = new AbortController()
  const left = api.get(records, { ...prefer('wait=60'), signal: gone.signal })
  const answers = Array.from({ length: maxOfTeam - 1 }, () => api.get(records, prefer('wait=60')))
  await api.untilWaiting(maxOfTeam)
  expect(applied(await api.get(records, prefer('wait=60')))).toEqual([200, undefined])
  gone.abort()
  await expect(left).rejects.toMatchObject({ name: 'AbortError' })
  await api.untilWaiting(maxOfTeam - 1)
  const other = api.get(records, { ...prefer('wait=60'), key: api.keyOf(otherTeam) })
  answers.push(api.get(records, prefer('wait=60', whole)), other)
  await api.untilWaiting(maxOfTeam + 1)
  endWaits()
  for (const answer of await Promise.all(answers)) expect(applied(answer)).toEqual([200, 'wait=60'])
})

test('a request that has waited counts once, and the time for which it was held is told apart from its duration', async () => {
  const limited = await api.startAnother({ RATE_LIMIT_PER_MINUTE: '50' })
  await api.replica.endMinutes()
  const answer = await limited.send(records, { ...prefer('wait=2'), key: api.key })
  const again = await limited.send(records, { key: api.key })
  expect(answer.headers['ratelimit']).toMatch(/r=49;/)
  expect(again.headers['ratelimit']).toMatch(/r=48;/)
  const lineOf = ({ headers }: TestAnswer) =>
    limited.logLines.find(({ requestId }) => requestId === headers['x-request-id'])
  await eventually(() => lineOf(answer) !== undefined && lineOf(again) !== undefined)
  const { waitedMs, durationMs } = lineOf(answer) ?? {}
  expect(waitedMs).toBeGreaterThan(Number(durationMs))
  expect(lineOf(again)).not.toHaveProperty('waitedMs')
  const durations = await limited.metrics.getSingleMetricAsString('tidemark_http_request_duration_seconds')
  const sum = /_sum\{route="\/api\/v1\/records",method="GET",status="200"\} (\S+)/.exec(durations)?.[1]
  expect(Number(sum)).toBeLessThan(Number(waitedMs) / 1_000)
})

test('a process that stops answers at once what waits', async () => {
  const stopping = await api.startAnother()
  const answers = [page, whole].map((headers) =>
    stopping.send(records, { ...prefer('wait=60', { connection: 'keep-alive', ...headers }), key: api.key }),
  )
  await stopping.untilWaiting(answers.length)
  await stopping.close()
  for (const answer of await Promise.all(answers)) {
    expect(applied(answer)).toEqual([200, 'wait=60'])
    expect(answer.headers['replica-watermark']).toBe(watermark)
  }
})

test('a request that waits is answered 503 once Redis is away', async () => {
  const relay = close(await startRelay(process.env['REDIS_URL']))
  const cutOff = await api.startAnother({ REDIS_URL: relay.url })
  const answer = cutOff.send(records, { ...prefer('wait=60'), key: api.key })
  await cutOff.untilWaiting(1)
  relay.cut()
  expect(applied(await answer)).toEqual([503, undefined])
})
