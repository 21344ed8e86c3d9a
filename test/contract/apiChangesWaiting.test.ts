import { toInstant } from '../../src/core/model/instant.ts'
import { type TestAnswer, type TestRequest, useApi } from '../support/api.ts'
import { askChanges, namesOf, pageIn } from '../support/changeFeed.ts'
import { closing } from '../support/closing.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { eventually } from '../support/eventually.ts'
import { passes } from '../support/faultyElasticsearch.ts'
import { startRelay } from '../support/relay.ts'

const maxOfTeam = 10
const [team, otherTeam] = ['team-1', 'team-2']
const feed = '/api/v1/record-changes'

let aheadMs = 0
const api = useApi({
  teams: [team, otherTeam],
  watermark: toInstant(0),
  elapsedMs: () => performance.now() + aheadMs,
  hasFaultyElasticsearch: true,
})
const endWaits = (): void => {
  aheadMs += 60_000
}
afterEach(() => api.untilWaiting(0))
const close = closing()

const latest = async (): Promise<string> => (await askChanges(api.get, feed, 'latest')).cursor
const waiting: TestRequest = { headers: { prefer: 'wait=60' } }
const askWaiting = (cursor: string, request: TestRequest = {}): Promise<TestAnswer> =>
  api.get(`${feed}?cursor=${cursor}`, { ...waiting, ...request })
const applied = ({ status, headers }: TestAnswer): unknown => [status, headers['preference-applied']]

let last = 0
/** Makes another submission, or form, visible. */
async function add(of = team, type: 'forms' | 'submissions' = 'submissions'): Promise<string> {
  const id = `new-${++last}`
  if (type === 'forms') await api.replica.storeForms({ team: of, id, entity: formEntity({ id }) })
  else await api.replica.storeSubmissions({ team: of, id, entity: submissionEntity({ id }) })
  await api.replica.publishPositions(toInstant(last), { lists: [`${type}/${of}`] })
  return id
}

test.each(['GET', 'HEAD'])(
  'a %s with `Prefer: wait` is answered when there is a row, or at once if there are rows already',
  async (method) => {
    const cursor = await latest()
    const held = askWaiting(cursor, { method })
    await api.untilWaiting(1)
    const id = await add()
    for (const answer of [await held, await askWaiting(cursor, { method })]) {
      expect(applied(answer)).toEqual([200, 'wait=60'])
      if (method === 'GET') expect(namesOf(pageIn(answer).items)).toEqual([id])
    }
  },
)

test('when its time is over, a waiting request gets an empty page with the watermark of that moment, and the next request has later changes', async () => {
  const held = askWaiting(await latest())
  await api.untilWaiting(1)
  await api.replica.advanceWatermark(toInstant(1_000))
  endWaits()
  const answer = await held
  expect(applied(answer)).toEqual([200, 'wait=60'])
  expect(answer.headers['replica-watermark']).toBe(toInstant(1_000))
  const { items, cursor, hasMore } = pageIn(answer)
  expect([items, hasMore]).toEqual([[], false])
  const id = await add()
  expect(namesOf((await askChanges(api.get, feed, cursor)).items)).toEqual([id])
})

test('while nothing is new, a waiting request causes no search in Elasticsearch', async () => {
  const cursor = await latest()
  const asked = api.elasticsearch.inject('', passes)
  const held = askWaiting(cursor)
  await api.untilWaiting(1)
  endWaits()
  expect(pageIn(await held)).toEqual({ items: [], cursor, hasMore: false })
  expect(asked.met()).toBe(0)
})

test('changes of another team or list do not end a wait', async () => {
  const held = askWaiting(await latest())
  await api.untilWaiting(1)
  await add(otherTeam)
  await add(team, 'forms')
  await api.untilWaiting(1)
  const id = await add()
  expect(namesOf(pageIn(await held).items)).toEqual([id])
})

test('a request continues to wait when another generation serves, and when every list has another version', async () => {
  const held = askWaiting(await latest())
  await api.untilWaiting(1)
  await api.replica.disturb('flushed')
  await api.replica.replaceChangeToken(`submissions/${team}`)
  await api.untilWaiting(1)
  const id = await add()
  expect(namesOf(pageIn(await held).items)).toEqual([id])
})

test.each(['', '?cursor=latest'])(
  'a request without the cursor of a finished walk (%s) is answered at once',
  async (query) => {
    expect(applied(await api.get(feed + query, waiting))).toEqual([200, undefined])
  },
)

test('a request that asks to wait for more than a minute is answered at once', async () => {
  const answer = await askWaiting(await latest(), { headers: { prefer: 'wait=61' } })
  expect(applied(answer)).toEqual([200, undefined])
})

test.each(['application/json', 'application/x-ndjson'])('a list ignores `Prefer: wait` (%s)', async (accept) => {
  const target = '/api/v1/records?changedSince=2999-01-01'
  expect(applied(await api.get(target, { headers: { ...waiting.headers, accept } }))).toEqual([200, undefined])
})

test('ten requests of a team may wait in a process, and one more is answered at once, until a client disconnects', async () => {
  const cursor = await latest()
  const gone = new AbortController()
  const left = askWaiting(cursor, { signal: gone.signal })
  const answers = Array.from({ length: maxOfTeam - 1 }, () => askWaiting(cursor))
  await api.untilWaiting(maxOfTeam)
  expect(applied(await askWaiting(cursor))).toEqual([200, undefined])
  gone.abort()
  await expect(left).rejects.toMatchObject({ name: 'AbortError' })
  await api.untilWaiting(maxOfTeam - 1)
  const key = api.keyOf(otherTeam)
  const ofOther = pageIn(await api.get(`${feed}?cursor=latest`, { key })).cursor
  answers.push(askWaiting(cursor), askWaiting(ofOther, { key }))
  await api.untilWaiting(maxOfTeam + 1)
  endWaits()
  for (const answer of await Promise.all(answers)) expect(applied(answer)).toEqual([200, 'wait=60'])
})

test('a request that has waited counts once against the limit, and its waiting time is logged apart from its duration', async () => {
  const limited = await api.startAnother({ RATE_LIMIT_PER_MINUTE: '50' })
  const cursor = await latest()
  await api.replica.endMinutes()
  const target = `${feed}?cursor=${cursor}`
  const answer = await limited.send(target, { headers: { prefer: 'wait=2' }, key: api.key })
  const again = await limited.send(target, { key: api.key })
  expect(answer.headers['ratelimit']).toMatch(/r=49;/)
  expect(again.headers['ratelimit']).toMatch(/r=48;/)
  const lineOf = ({ headers }: TestAnswer) =>
    limited.logLines.find(({ requestId }) => requestId === headers['x-request-id'])
  await eventually(() => lineOf(answer) !== undefined && lineOf(again) !== undefined)
  const { waitedMs, durationMs } = lineOf(answer) ?? {}
  expect(waitedMs).toBeGreaterThan(Number(durationMs))
  expect(lineOf(again)).not.toHaveProperty('waitedMs')
  const durations = await limited.metrics.getSingleMetricAsString('tidemark_http_request_duration_seconds')
  const sum = /_sum\{route="\/api\/v1\/record-changes",method="GET",status="200"\} (\S+)/.exec(durations)?.[1]
  expect(Number(sum)).toBeLessThan(Number(waitedMs) / 1_000)
})

test('a waiting request is answered 503 when Redis goes away', async () => {
  const relay = close(await startRelay(process.env['REDIS_URL']))
  const cutOff = await api.startAnother({ REDIS_URL: relay.url })
  const answer = cutOff.send(`${feed}?cursor=${await latest()}`, { ...waiting, key: api.key })
  await cutOff.untilWaiting(1)
  relay.cut()
  expect(applied(await answer)).toEqual([503, undefined])
})

test('a waiting request whose key is revoked gets 401 at once, and requests of other keys continue to wait', async () => {
  const key = await api.replica.storeKey(team, { id: 'revoked' })
  const cursor = await latest()
  const [held, other] = [askWaiting(cursor, { key }), askWaiting(cursor)]
  await api.untilWaiting(2)
  await api.replica.storeKey(team, { id: 'revoked', plaintext: key, state: 'revoked', revision: 2 })
  expect(applied(await held)).toEqual([401, undefined])
  expect((await held).json).toMatchObject({ error: { code: 'unauthorized' } })
  await api.untilWaiting(1)
  endWaits()
  expect(applied(await other)).toEqual([200, 'wait=60'])
})

test('a process that stops answers its waiting requests at once', async () => {
  const stopping = await api.startAnother()
  const cursor = await latest()
  const held = stopping.send(`${feed}?cursor=${cursor}`, { ...waiting, key: api.key })
  await stopping.untilWaiting(1)
  await stopping.close()
  expect(pageIn(await held).items).toEqual([])
})
