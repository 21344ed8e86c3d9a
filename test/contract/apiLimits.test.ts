import type { TestAnswer } from '../support/api.ts'
import { closing } from '../support/closing.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'

const api = useApi({ teams: [], settings: { RATE_LIMIT_PER_MINUTE: '' } })
const close = closing()
let keyNumber = 0

/** A key that has made no request yet. */
const freshKey = async (): Promise<{ id: string; key: string }> => {
  const id = `key-${++keyNumber}`
  return { id, key: await api.replica.storeKey(team, { id }) }
}

const send = (key: string, target = '/api/v1/forms', method = 'GET'): Promise<TestAnswer> =>
  api.send(target, { key, method })

const sendMany = async (key: string, count: number): Promise<number[]> => {
  const answers = await Promise.all(Array.from({ length: count }, () => send(key)))
  return answers.map(({ status }) => status)
}

test('a key makes 120 requests a minute; the next is 429 rate_limited with Retry-After', async () => {
  const { key } = await freshKey()
  expect(new Set(await sendMany(key, 120))).toEqual(new Set([200]))
  const { status, headers, json } = await send(key)
  expect(status).toBe(429)
  expect(json).toEqual({ error: { code: 'rate_limited', message: expect.any(String) } })
  expect(headers['retry-after']).toMatch(/^\d+$/)
  expect(Number(headers['retry-after'])).toBeGreaterThanOrEqual(1)
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
  expect(headers).toMatchObject({
    ratelimit: `"key";r=0;t=${headers['retry-after']}`,
    'ratelimit-policy': '"key";q=120;w=60',
    'cache-control': 'private, no-cache',
    vary: 'Authorization, Accept, Accept-Encoding',
  })
})

test('of requests at the same time, exactly 120 pass', async () => {
  const { key } = await freshKey()
  const statuses = await sendMany(key, 150)
  expect(statuses.filter((status) => status === 200)).toHaveLength(120)
  expect(statuses.filter((status) => status === 429)).toHaveLength(30)
})

test('the limit is judged before route, method and parameters', async () => {
  const { key } = await freshKey()
  await sendMany(key, 120)
  for (const [target, method] of [
    ['/unknown', 'GET'],
    ['/api/v1/forms', 'POST'],
    ['/api/v1/forms?limit=0', 'GET'],
  ] as const)
    expect((await send(key, target, method)).status).toBe(429)
})

test('the key is judged before the limit: one that is used up and then revoked gives 401', async () => {
  const { id, key } = await freshKey()
  await sendMany(key, 121)
  await api.replica.storeKey(team, { id, plaintext: key, state: 'revoked', revision: 2 })
  expect((await send(key)).status).toBe(401)
})

test('each key has its own minute, also within a team', async () => {
  const [one, other] = [await freshKey(), await freshKey()]
  await sendMany(one.key, 121)
  expect((await send(one.key)).status).toBe(429)
  expect((await send(other.key)).headers['ratelimit']).toMatch(/r=119/)
})

test('keys of two teams that have the same id each have their own minute', async () => {
  const id = `key-${++keyNumber}`
  const [one, other] = [await api.replica.storeKey(team, { id }), await api.replica.storeKey('team-2', { id })]
  await sendMany(one, 121)
  expect((await send(one)).status).toBe(429)
  expect((await send(other)).headers['ratelimit']).toMatch(/r=119/)
})

test("the minute is 60 s from the key's first request; refused requests do not extend it", async () => {
  const { id, key } = await freshKey()
  await send(key)
  const afterFirstMs = await api.replica.minuteLeftMs(team, id)
  expect(afterFirstMs).toBeGreaterThan(0)
  expect(afterFirstMs).toBeLessThanOrEqual(60_000)
  await sendMany(key, 200)
  expect((await send(key)).status).toBe(429)
  expect(await api.replica.minuteLeftMs(team, id)).toBeLessThan(afterFirstMs)
})

test('when the minute is over the key has 120 again', async () => {
  const { key } = await freshKey()
  await sendMany(key, 130)
  await api.replica.endMinutes()
  expect((await send(key)).headers['ratelimit']).toMatch(/r=119;t=60/)
})

test('API processes share the minute of a key', async () => {
  const other = close(await api.startAnother())
  const { key } = await freshKey()
  await send(key)
  expect((await other.send('/api/v1/forms', { key })).headers['ratelimit']).toMatch(/r=118/)
})

test('the limit is a setting, which the policy names', async () => {
  const strict = close(await api.startAnother({ RATE_LIMIT_PER_MINUTE: '1' }))
  const { key } = await freshKey()
  const first = await strict.send('/api/v1/forms', { key })
  expect(first.headers).toMatchObject({
    'ratelimit-policy': '"key";q=1;w=60',
    ratelimit: expect.stringMatching(/r=0;/),
  })
  expect((await strict.send('/api/v1/forms', { key })).status).toBe(429)
})
