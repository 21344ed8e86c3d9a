import type { TeamId } from '../../src/core/model/ids.ts'
import { AccountKeyStore } from '../../src/core/redis/accountKeyStore.ts'
import { type TestAnswer, useApi } from '../support/api.ts'
import { eventually } from '../support/eventually.ts'
import { useStarted } from '../support/lifecycle.ts'
import { connectReal } from '../support/redisPair.ts'

const team = 'team-1'

let nowMs = Date.parse('2026-05-01T12:00:30.500Z')
const api = useApi({ teams: [], settings: { RATE_LIMIT_PER_MINUTE: '' }, nowMs: () => nowMs })
let keyNumber = 0

/** A key that has made no request yet. */
const freshKey = async (of = team, id = `key-${++keyNumber}`): Promise<{ id: string; key: string }> => ({
  id,
  key: await api.replica.storeKey(of, { id }),
})

const send = (key: string, target = '/api/v1/forms', method = 'GET'): Promise<TestAnswer> =>
  api.send(target, { key, method })

/** To no route: a request is counted before its route is looked for, and 404 asks Elasticsearch for nothing, however many come at once. */
const sendMany = async (key: string, count: number): Promise<number[]> => {
  const answers = await Promise.all(Array.from({ length: count }, () => send(key, '/unknown')))
  return answers.map(({ status }) => status)
}

test('of concurrent requests exactly 120 pass in a minute; the next one gets 429 with Retry-After', async () => {
  const { key } = await freshKey()
  const statuses = await sendMany(key, 150)
  expect(statuses.toSorted()).toEqual([...Array(120).fill(404), ...Array(30).fill(429)])
  const { status, headers, json } = await send(key)
  expect(status).toBe(429)
  expect(json).toEqual({ error: { code: 'rate_limited', message: expect.any(String) } })
  expect(headers['retry-after']).toMatch(/^([1-9]|[1-5]\d|60)$/)
  expect(headers).toMatchObject({
    ratelimit: `"key";r=0;t=${headers['retry-after']}`,
    'ratelimit-policy': '"key";q=120;w=60',
    'cache-control': 'private, no-cache',
    vary: 'Authorization, Accept, Accept-Encoding',
  })
})

test('the limit is checked after the key, and before route, method and parameters', async () => {
  const { id, key } = await freshKey()
  await sendMany(key, 121)
  for (const target of ['/unknown', '/api/v1/forms?limit=0']) expect((await send(key, target)).status).toBe(429)
  expect((await send(key, '/api/v1/forms', 'POST')).status).toBe(429)
  await api.replica.storeKey(team, { id, plaintext: key, state: 'revoked', revision: 2 })
  expect((await send(key)).status).toBe(401)
})

test('each key has its own limit, also keys of one team, and keys with the same id of two teams', async () => {
  const one = await freshKey()
  await sendMany(one.key, 121)
  expect((await send(one.key)).status).toBe(429)
  for (const other of [await freshKey(), await freshKey('team-2', one.id)])
    expect((await send(other.key)).headers['ratelimit']).toMatch(/r=119/)
})

test("the minute is 60 s from the key's first request; refused requests do not extend it; then it has 120 again", async () => {
  const { id, key } = await freshKey()
  await send(key)
  const afterFirstMs = await api.replica.minuteLeftMs(team, id)
  expect(afterFirstMs).toBeGreaterThan(0)
  expect(afterFirstMs).toBeLessThanOrEqual(60_000)
  await sendMany(key, 200)
  expect((await send(key)).status).toBe(429)
  expect(await api.replica.minuteLeftMs(team, id)).toBeLessThan(afterFirstMs)
  await api.replica.endMinutes()
  expect((await send(key)).headers['ratelimit']).toMatch(/r=119;t=60/)
})

test('a request that cannot be counted gets 503: it neither passes nor makes its key invalid', async () => {
  const { id, key } = await freshKey()
  await send(key)
  await api.replica.breakMinute(team, id)
  const { status, headers, json } = await send(key)
  expect([status, json]).toMatchObject([503, { error: { code: 'service_unavailable' } }])
  expect(headers['retry-after']).toMatch(/^\d+$/)
  await api.replica.endMinutes()
  expect((await send(key)).headers['ratelimit']).toMatch(/r=119/)
})

test('API processes share the limit of a key', async () => {
  const other = await api.startAnother()
  const { key } = await freshKey()
  await send(key)
  expect((await other.send('/api/v1/forms', { key })).headers['ratelimit']).toMatch(/r=118/)
})

describe('the last use of a key', () => {
  const link = useStarted('the connection', () => connectReal(api.replica.prefix))

  const uses = async (of = team): Promise<Record<string, string>> =>
    Object.fromEntries(await new AccountKeyStore(link).lastUse(of as TeamId))
  const usedAt = '2026-05-01T12:00:30.500Z'

  test('is the first request in the minute of its limit, however often the key is used', async () => {
    const { id, key } = await freshKey()
    await send(key)
    nowMs += 29_000
    for (let at = 0; at < 2; at++) await send(key)
    await eventually(async () => (await uses())[id] === usedAt)
    await api.replica.endMinutes()
    nowMs += 31_000
    await send(key)
    await eventually(async () => (await uses())[id] === '2026-05-01T12:01:30.500Z')
    nowMs -= 60_000
  })

  test('belongs to its team alone, although another team has a key with the same id', async () => {
    const [one, other] = [await freshKey('team-2', 'same'), await freshKey('team-3', 'same')]
    await send(one.key)
    await eventually(async () => (await uses('team-2'))['same'] === usedAt)
    expect(await uses('team-3')).toEqual({})
    await send(other.key)
    await eventually(async () => (await uses('team-3'))['same'] === usedAt)
  })

  test('is missing for a key that was never used, or was refused', async () => {
    const revoked = await api.replica.storeKey(team, { id: 'revoked', state: 'revoked' })
    const expired = await api.replica.storeKey(team, { id: 'expired', expiresAt: '2026-05-01T12:00:00.000Z' })
    for (const refused of [revoked, expired]) expect((await send(refused)).status).toBe(401)
    const { id, key } = await freshKey()
    await send(key)
    await eventually(async () => (await uses())[id] === usedAt)
    for (const refused of ['revoked', 'expired']) expect(await uses()).not.toHaveProperty(refused)
  })
})
