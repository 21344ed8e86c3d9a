import { jest } from '@jest/globals'
import { appendPositionOf } from '../../src/core/kafka/sourceRecord.ts'
import { type AccountKeyState, deletedAfter, digestOf } from '../../src/core/model/accountKey.ts'
import type { EntityId, Revision, TeamId } from '../../src/core/model/ids.ts'
import type { Instant } from '../../src/core/model/instant.ts'
import { AccountKeyStore, AccountKeysIncomplete } from '../../src/core/redis/accountKeyStore.ts'
import { countRequests } from '../../src/core/redis/countRequests.ts'
import { findKeys, type LookUpKey, shareLookups } from '../../src/core/redis/keyLookups.ts'
import { keyState } from '../support/entities.ts'
import { useRedis } from '../support/redisPair.ts'

const acme = 'acme' as TeamId
const k1 = 'k1' as EntityId
const nowMs = 1_000_000

const redis = useRedis()
const store = new AccountKeyStore(redis)
beforeEach(async () => {
  await (await store.beginReplay('first')).complete()
})

afterEach(() => jest.restoreAllMocks())

const apply = async (id: string, state: AccountKeyState, team = acme): Promise<string> =>
  (await store.apply(team, id as EntityId, state)).kind

test('one call finds several keys, except unknown keys and keys that two teams claim', async () => {
  const held = (...plaintexts: string[]) => findKeys(redis, plaintexts.map(digestOf))
  await apply(k1, keyState())
  await apply('k2', keyState({ id: 'k2', digest: digestOf('two'), state: 'revoked' }))
  for (const team of [acme, 'other' as TeamId])
    await apply('k3', keyState({ id: 'k3', digest: digestOf('contested') }), team)
  expect(await held('rqp_acct_one', 'unknown', 'two', 'contested')).toEqual([
    { teamId: 'acme', keyId: 'k1', state: 'active', expiresAtMs: null },
    null,
    { teamId: 'acme', keyId: 'k2', state: 'revoked', expiresAtMs: null },
    null,
  ])
  await redis.lose()
  expect(await held('rqp_acct_one')).toBeUndefined()
})

describe('Requests that arrive during a look-up of keys', () => {
  let lookUp: LookUpKey
  beforeEach(() => {
    lookUp = shareLookups(redis, countRequests(redis, 120))
  })
  const asked = (plaintext: string, atMs = nowMs) => lookUp(digestOf(plaintext), atMs)

  test('share the next look-up, each with its own key and its own count', async () => {
    await apply(k1, keyState())
    await apply('k2', keyState({ id: 'k2', digest: digestOf('two') }), 'other' as TeamId)
    const calls = jest.spyOn(redis.client, 'evalsha')
    const plaintexts = ['rqp_acct_one', 'rqp_acct_one', 'two', 'unknown', 'rqp_acct_one', 'two']
    const answers = await Promise.all(plaintexts.map((each) => asked(each)))
    expect(calls).toHaveBeenCalledTimes(2)
    const counted = answers.map((each) =>
      each.kind === 'found' ? [each.accountKey.keyId, each.window.requests] : each.kind,
    )
    expect(counted).toEqual([['k1', 1], ['k1', 2], ['k2', 1], 'unknown', ['k1', 3], ['k2', 2]])
  })

  test('are looked up a bounded number of keys at a time', async () => {
    const calls = jest.spyOn(redis.client, 'evalsha')
    await Promise.all(Array.from({ length: 1 + 64 + 1 }, (_, at) => asked(`unknown ${at}`)))
    expect(calls).toHaveBeenCalledTimes(3)
  })

  test('fail if the look-up that they wait for fails, and later requests do not', async () => {
    await apply(k1, keyState())
    jest.spyOn(redis.client, 'evalsha').mockRejectedValueOnce(new Error('Command timed out'))
    const answers = await Promise.allSettled([asked('rqp_acct_one'), asked('rqp_acct_one')])
    expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(await asked('rqp_acct_one')).toMatchObject({ window: { requests: 1 } })
  })
})

describe('A request is counted', () => {
  const lookUpIn = (): LookUpKey => shareLookups(redis, countRequests(redis, 120))
  const digest = digestOf('rqp_acct_one')
  const counters = async (): Promise<string[]> => {
    const found = await redis.client.keys(`${redis.keys.limitPrefix}*`)
    return await Promise.all(
      found.toSorted().map(async (name) => `${name.split(':').at(-1)} ${await redis.client.get(name)}`),
    )
  }

  test('in the same round trip as the look-up, if its key was found a moment ago', async () => {
    await apply(k1, keyState())
    const lookUp = lookUpIn()
    for (let at = 0; at < 2; at++) await lookUp(digest, nowMs)
    const written = jest.spyOn(redis.client.stream, 'write')
    expect(await lookUp(digest, nowMs)).toMatchObject({ window: { requests: 3 } })
    expect(written.mock.calls.map(([text]) => String(text).match(/evalsha/g)?.length)).toEqual([2])
  })

  test('for the key that its digest belongs to now, not for an earlier key', async () => {
    await apply(k1, keyState())
    const lookUp = lookUpIn()
    await lookUp(digest, nowMs)
    await store.apply(acme, k1, deletedAfter(1 as Revision))
    await apply('k2', keyState({ id: 'k2' }))
    expect(await lookUp(digest, nowMs)).toMatchObject({ accountKey: { keyId: 'k2' }, window: { requests: 1 } })
    expect(await lookUp(digest, nowMs)).toMatchObject({ window: { requests: 2 } })
  })

  test('not at all if its key is refused, which gets no last use either', async () => {
    await apply(k1, keyState())
    await apply('k2', keyState({ id: 'k2', digest: digestOf('revoked'), state: 'revoked' }))
    await apply(
      'k3',
      keyState({ id: 'k3', digest: digestOf('expired'), expiresAt: '1970-01-01T00:00:00.000Z' as Instant }),
    )
    const lookUp = lookUpIn()
    await lookUp(digest, nowMs)
    await apply(k1, keyState({ revision: 2, state: 'revoked' }))
    await redis.client.del(redis.keys.lastUse(acme), `${redis.keys.limitPrefix}:acme/k1`)
    for (let at = 0; at < 3; at++)
      for (const plaintext of ['rqp_acct_one', 'revoked', 'expired', 'unknown'])
        await lookUp(digestOf(plaintext), nowMs)
    // The first of them came before it was known that the key was revoked.
    expect(await counters()).toEqual(['acme/k1 1'])
    expect(await store.lastUse(acme)).toEqual(new Map())
  })

  test('once, when Redis has lost its scripts', async () => {
    await apply(k1, keyState())
    const lookUp = lookUpIn()
    await lookUp(digest, nowMs)
    await redis.client.script('FLUSH')
    const answers = await Promise.all([lookUp(digest, nowMs), lookUp(digest, nowMs), lookUp(digest, nowMs)])
    expect(answers).toMatchObject([2, 3, 4].map((requests) => ({ window: { requests } })))
  })

  test('or fails, if Redis cannot count; a revoked key is refused all the same', async () => {
    await apply(k1, keyState())
    const [known, unknown] = [lookUpIn(), lookUpIn()]
    await known(digest, nowMs)
    const counter = `${redis.keys.limitPrefix}:acme/k1`
    await redis.client.del(counter)
    await redis.client.hset(counter, 'no', 'number')
    for (const lookUp of [known, unknown]) await expect(lookUp(digest, nowMs)).rejects.toThrow('WRONGTYPE')
    await apply(k1, keyState({ revision: 2, state: 'revoked' }))
    for (const lookUp of [known, unknown])
      expect(await lookUp(digest, nowMs)).toMatchObject({ accountKey: { state: 'revoked' }, window: { requests: 0 } })
  })
})

test('reserved slots of a team are free again once their time is over, and not before', async () => {
  const reserve = (id: string, fromMs = nowMs): Promise<string> =>
    store.reserve(acme, id as EntityId, fromMs, fromMs + 1_000)
  for (let at = 0; at < 10; at++) await reserve(`r${at}`)
  expect(await reserve('late', nowMs + 1_000)).toBe('full')
  expect(await reserve('late', nowMs + 1_001)).toBe('reserved')
})

test("a list of a team's keys reads no deleted keys, and a deleted key stays deleted", async () => {
  const deleted = deletedAfter(1 as Revision)
  await apply(k1, keyState())
  await store.apply(acme, k1, deleted, `-${nowMs}`)
  expect(await store.unreadChanges(acme, nowMs + 1)).toEqual([[k1, null]])
  await store.apply(acme, k1, deleted, appendPositionOf({ partition: 0, offset: 7n }))
  expect(await redis.client.hgetall(redis.keys.teamKeys(acme))).toEqual({})
  expect(await store.find(acme, k1)).toEqual(deleted)
  expect(await store.reserve(acme, k1, nowMs, nowMs)).toBe('deleted')
  const late = await store.apply(acme, k1, keyState(), appendPositionOf({ partition: 0, offset: 8n }))
  expect(late).toEqual({ kind: 'stale', newest: deleted })
})

test('a lost store is complete again after a replay, unless Redis loses it during the replay', async () => {
  await redis.lose()
  const undone = await store.beginReplay('a')
  await redis.lose()
  expect(await undone.complete()).toBe(false)
  const fold = await store.beginReplay('b')
  await apply(k1, keyState())
  expect(await fold.complete()).toBe(true)
  expect(await shareLookups(redis)(digestOf('rqp_acct_one'))).toMatchObject({ accountKey: { keyId: 'k1' } })
})

test('a key that Redis loses during its look-up is not reported as unknown', async () => {
  await apply(k1, keyState())
  jest.spyOn(redis.client, 'hget').mockImplementationOnce(async () => {
    await redis.client.del(redis.keys.accountKeysComplete)
    return null
  })
  await expect(store.find(acme, k1)).rejects.toThrow(AccountKeysIncomplete)
})

test('a key whose record is gone is removed and no longer works; a key with a newer record stays', async () => {
  const positionOf = (offset: bigint) => appendPositionOf({ partition: 1, offset })
  await store.apply(acme, k1, keyState(), positionOf(5n))
  await store.apply(acme, 'k2' as EntityId, keyState({ id: 'k2', digest: digestOf('two') }), positionOf(6n))
  // Its record is still to come.
  await apply('k3', keyState({ id: 'k3', digest: digestOf('three') }))
  const known = await store.readPositions()
  expect(known).toEqual(
    new Map([
      ['acme/k1', positionOf(5n)],
      ['acme/k2', positionOf(6n)],
    ]),
  )
  await store.apply(
    acme,
    'k2' as EntityId,
    keyState({ id: 'k2', digest: digestOf('two'), revision: 2 }),
    positionOf(7n),
  )
  const forgotten = [...known].sort().map(([id, position]) => store.forget(id, position))
  expect(await Promise.all(forgotten)).toEqual([true, false])
  const held = await findKeys(redis, ['rqp_acct_one', 'two', 'three'].map(digestOf))
  expect(held?.map((key) => key?.keyId)).toEqual([undefined, 'k2', 'k3'])
  expect((await store.list(acme)).map(({ id }) => id).sort()).toEqual(['k2', 'k3'])
})

test('a key with live records in two partitions does not work until it is deleted, and both records are reported', async () => {
  const inPartition = (partition: number) => appendPositionOf({ partition, offset: 5n })
  await store.apply(acme, k1, keyState(), inPartition(0))
  await store.apply(acme, k1, keyState({ revision: 2 }), inPartition(1))
  expect(await findKeys(redis, [digestOf('rqp_acct_one')])).toEqual([null])
  expect(await store.contestedDigests(9)).toEqual([
    { digest: digestOf('rqp_acct_one'), keys: ['acme/k1', 'acme/k1 in another partition'] },
  ])
  await store.apply(acme, k1, { revision: 3 as Revision, key: null }, inPartition(1))
  expect(await store.contestedDigests(9)).toEqual([])
})
