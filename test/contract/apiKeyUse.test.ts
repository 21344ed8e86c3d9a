import { randomUUID } from 'node:crypto'
import type { DocumentId, EntityId, TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { readFollowers } from '../../src/core/redis/readFollowers.ts'
import { readKeyUse } from '../../src/core/redis/readKeyUse.ts'
import { useApi } from '../support/api.ts'
import type { ChangePage } from '../support/changeFeed.ts'
import { submissionEntity } from '../support/entities.ts'
import { useStarted } from '../support/lifecycle.ts'
import { connectReal } from '../support/redisPair.ts'

const team = 'team-1'
const watermark = '2026-05-01T12:00:00.000Z'
const startMs = Date.parse('2026-05-01T12:30:00.000Z')
let nowMs = startMs
const api = useApi({ teams: [], watermark, settings: { RATE_LIMIT_PER_MINUTE: '' }, nowMs: () => nowMs })
const link = useStarted('the connection', () => connectReal(api.replica.prefix))

afterEach(() => {
  nowMs = startMs
})

type Ask = (target: string) => Promise<{ readonly status: number; readonly json: unknown }>

/** A key that has made no request yet. Its requests go to an API process of their own, which then stops, and so shares what it has counted. */
async function freshKey(of = team, id = `key-${randomUUID()}`) {
  const key = await api.replica.storeKey(of, { id })
  return {
    sendAndStop: async (sendAll: (ask: Ask) => Promise<void>): Promise<void> => {
      const another = await api.startAnother()
      await sendAll((target) => another.send(target, { key }))
      await another.close()
    },
    use: async () => (await readKeyUse(link, of as TeamId, [id as EntityId], nowMs)).get(id as EntityId),
  }
}

const one = { requests: 1, refusals: 0, mistakes: 0 }

test('the requests of a key are counted, with its refusals (429) and mistakes (400)', async () => {
  const { sendAndStop, use } = await freshKey()
  await sendAndStop(async (ask) => {
    expect((await ask('/api/v1/forms')).status).toBe(200)
    expect((await ask('/api/v1/forms?limit=0')).status).toBe(400)
    for (let sent = 2; sent < 120; sent++) await ask('/unknown')
    for (let sent = 0; sent < 3; sent++) expect((await ask('/api/v1/forms')).status).toBe(429)
  })
  const counted = { requests: 123, refusals: 3, mistakes: 1 }
  expect(await use()).toEqual({ lastHour: counted, lastDay: counted, feeds: [] })
})

test('the counts of all API processes and of the last day are added', async () => {
  const { sendAndStop, use } = await freshKey()
  const askOnce = () => sendAndStop(async (ask) => void (await ask('/api/v1/forms')))
  await askOnce()
  nowMs += 2 * 3_600_000
  await askOnce()
  expect(await use()).toMatchObject({ lastHour: one, lastDay: { requests: 2 } })
  nowMs += 23 * 3_600_000
  expect(await use()).toMatchObject({ lastHour: { requests: 0 }, lastDay: one })
})

test('keys with the same id of two teams are counted apart, and a request without a good key is not counted', async () => {
  const [first, second] = [await freshKey('team-2', 'same'), await freshKey('team-3', 'same')]
  await first.sendAndStop(async (ask) => void (await ask('/api/v1/forms')))
  expect(await first.use()).toMatchObject({ lastDay: one })
  expect(await second.use()).toMatchObject({ lastDay: { requests: 0 } })
  expect((await api.send('/api/v1/forms', { key: 'rqp_acct_unknown' })).status).toBe(401)
})

test('a key counts as having read a feed up to the watermark once an answer has no more rows', async () => {
  const [feed, lists] = ['/api/v1/record-changes', [`submissions/${team}`] as const]
  const records = ['a', 'b'].map((id) => ({ team, id, appendedAt: watermark, entity: submissionEntity({ id }) }))
  await api.replica.storeSubmissions(...records)
  await api.replica.publishPositions(watermark, { lists })
  const { sendAndStop, use } = await freshKey()
  const read = async (ask: Ask, query: string): Promise<ChangePage> =>
    (await ask(`${feed}?limit=1${query}`)).json as ChangePage

  let cursor = ''
  await sendAndStop(async (ask) => {
    const page = await read(ask, '')
    cursor = page.cursor
    expect(page.hasMore).toBe(true)
  })
  const askedAt = new Date(nowMs).toISOString()
  expect((await use())?.feeds).toEqual([{ type: 'submissions', askedAt, readTo: null }])

  nowMs += 60_000
  await sendAndStop(async (ask) => {
    for (let hasMore = true; hasMore; ) ({ cursor, hasMore } = await read(ask, `&cursor=${cursor}`))
  })
  const laterAt = new Date(nowMs).toISOString()
  expect((await use())?.feeds).toEqual([{ type: 'submissions', askedAt: laterAt, readTo: watermark }])

  const later = '2026-05-01T12:10:00.000Z'
  await api.replica.advanceWatermark(later)
  await sendAndStop(async (ask) => {
    expect((await read(ask, `&cursor=${cursor}`)).items).toEqual([])
  })
  expect((await use())?.feeds).toEqual([{ type: 'submissions', askedAt: laterAt, readTo: later }])
})

test('the followers of all teams are counted, and the slowest ones listed: first those that have never read to the end', async () => {
  // Later than every other use in this file.
  const day = '2027-01-02'
  const follow = (id: string, fields: Readonly<Record<string, string>>) =>
    link.client.hset(link.keys.feedUse(id as DocumentId), fields)
  const at = (time: string, of = day): string => `${of}T${time}:00.000Z`
  await follow('acme/k1', { 'asked/forms': at('10:00'), 'asked/submissions': at('10:01'), 'read/forms': at('09:00') })
  await follow('acme/k2', { 'asked/forms': at('10:02'), 'read/forms': at('10:01') })
  await follow('other/k1', { 'asked/forms': at('10:03'), 'read/forms': at('08:00') })
  await follow('other/k2', { 'asked/forms': at('09:59', '2027-01-01'), 'read/forms': at('09:59', '2027-01-01') })
  const read = (signal = AbortSignal.timeout(5_000)) =>
    readFollowers(link, at('10:00', '2027-01-01') as Instant, 3, signal)
  expect(await read()).toEqual({
    keys: 3,
    isComplete: true,
    slowest: [
      { teamId: 'acme', keyId: 'k1', type: 'submissions', askedAt: at('10:01'), readTo: null },
      { teamId: 'other', keyId: 'k1', type: 'forms', askedAt: at('10:03'), readTo: at('08:00') },
      { teamId: 'acme', keyId: 'k1', type: 'forms', askedAt: at('10:00'), readTo: at('09:00') },
    ],
  })
  expect((await read(AbortSignal.abort())).isComplete).toBe(false)
})
