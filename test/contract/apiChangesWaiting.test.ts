import { toInstant } from '../../src/core/model/instant.ts'
import { type TestAnswer, type TestRequest, useApi } from '../support/api.ts'
import { askChanges, namesOf, pageIn } from '../support/changeFeed.ts'
import { formEntity, submissionEntity } from '../support/entities.ts'
import { passes } from '../support/faultyElasticsearch.ts'

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

test.each(['GET', 'HEAD'])('%s is held until there is a row, and comes at once while there is more', async (method) => {
  const cursor = await latest()
  const held = askWaiting(cursor, { method })
  await api.untilWaiting(1)
  const id = await add()
  for (const answer of [await held, await askWaiting(cursor, { method })]) {
    expect(applied(answer)).toEqual([200, 'wait=60'])
    if (method === 'GET') expect(namesOf(pageIn(answer).items)).toEqual([id])
  }
})

test('when the time is over, the answer is empty, and the next one has what comes then', async () => {
  const held = askWaiting(await latest())
  await api.untilWaiting(1)
  endWaits()
  const answer = await held
  expect(applied(answer)).toEqual([200, 'wait=60'])
  const { items, cursor, hasMore } = pageIn(answer)
  expect([items, hasMore]).toEqual([[], false])
  const id = await add()
  expect(namesOf((await askChanges(api.get, feed, cursor)).items)).toEqual([id])
})

test('while nothing is new, a request that waits asks Elasticsearch nothing', async () => {
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

test('a request goes on waiting when other indices serve, and when every list has another version', async () => {
  const held = askWaiting(await latest())
  await api.untilWaiting(1)
  await api.replica.disturb('flushed')
  await api.replica.replaceChangeToken(`submissions/${team}`)
  await api.untilWaiting(1)
  const id = await add()
  expect(namesOf(pageIn(await held).items)).toEqual([id])
})

test.each(['', '?cursor=latest'])('%s is answered at once', async (query) => {
  expect(applied(await api.get(feed + query, waiting))).toEqual([200, undefined])
})

test('a key that is revoked ends its wait with 401', async () => {
  const key = await api.replica.storeKey(team, { id: 'revoked' })
  const held = askWaiting(await latest(), { key })
  await api.untilWaiting(1)
  await api.replica.storeKey(team, { id: 'revoked', plaintext: key, state: 'revoked', revision: 2 })
  expect(applied(await held)).toEqual([401, undefined])
})

test('a process that stops answers at once what waits', async () => {
  const stopping = await api.startAnother()
  const cursor = await latest()
  const held = stopping.send(`${feed}?cursor=${cursor}`, { ...waiting, key: api.key })
  await stopping.untilWaiting(1)
  await stopping.close()
  expect(pageIn(await held).items).toEqual([])
})
