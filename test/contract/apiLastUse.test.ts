import type { TeamId } from '../../src/core/model/ids.ts'
import { readLastUse } from '../../src/core/stores/keyLastUse.ts'
import type { RedisConnection } from '../../src/core/stores/redis.ts'
import { eventually } from '../support/eventually.ts'
import { connectReal } from '../support/redisPair.ts'
import { useApi } from '../support/useApi.ts'

const team = 'team-1'
const startMs = Date.parse('2026-05-01T12:00:30.500Z')

let nowMs = startMs
const api = useApi({ teams: [], settings: { RATE_LIMIT_PER_MINUTE: '2' }, nowMs: () => nowMs })
let link: RedisConnection
beforeAll(async () => {
  link = await connectReal(api.replica.prefix)
})
afterAll(() => link.close())
beforeEach(async () => {
  nowMs = startMs
  await api.replica.endMinutes()
})

const uses = async (of = team): Promise<Record<string, string>> =>
  Object.fromEntries(await readLastUse(link, of as TeamId))
const use = async (key: string): Promise<number> => (await api.send('/api/v1/forms', { key })).status

test('the last use of a key is known to the minute, refused requests included', async () => {
  const key = await api.replica.storeKey(team, { id: 'k1' })
  await use(key)
  await eventually(async () => (await uses())['k1'] === '2026-05-01T12:00:00.000Z')
  nowMs += 60_000
  expect([await use(key), await use(key)]).toEqual([200, 429])
  await eventually(async () => (await uses())['k1'] === '2026-05-01T12:01:00.000Z')
})

test('the last use of a key is told of its team alone, though another team has a key with the same id', async () => {
  const teams = ['team-2', 'team-3']
  const keys = await Promise.all(teams.map((each) => api.replica.storeKey(each, { id: 'same' })))
  await use(keys[0] ?? '')
  await eventually(async () => 'same' in (await uses('team-2')))
  expect(await uses('team-3')).toEqual({})
  await use(keys[1] ?? '')
  await eventually(async () => 'same' in (await uses('team-3')))
})

test('a key that was never used, or is not accepted, has no last use', async () => {
  const revoked = await api.replica.storeKey(team, { id: 'revoked', state: 'revoked' })
  const used = await api.replica.storeKey(team, { id: 'used' })
  expect([await use(revoked), await use(used)]).toEqual([401, 200])
  await eventually(async () => 'used' in (await uses()))
  expect(await uses()).not.toHaveProperty('revoked')
})

test('the use of a key is recorded once a minute, however often it is used', async () => {
  const key = await api.replica.storeKey(team, { id: 'busy' })
  await use(key)
  await eventually(async () => 'busy' in (await uses()))
  const name = link.keys.lastUse(team as TeamId)
  await link.client.hdel(name, 'busy')
  nowMs += 29_000
  await api.replica.endMinutes()
  // Answers are given in the order of a connection's commands: a note of these would be there before the next one's.
  for (let at = 0; at < 2; at++) await use(key)
  await use(await api.replica.storeKey(team, { id: 'marker' }))
  await eventually(async () => 'marker' in (await uses()))
  expect(await uses()).not.toHaveProperty('busy')
})
