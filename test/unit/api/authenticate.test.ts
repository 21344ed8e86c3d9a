import { EventEmitter } from 'node:events'
import { jest } from '@jest/globals'
import { authenticate, createRecheck, watchKeys } from '../../../src/api/authenticate.ts'
import type { ApiContext, RouteContext } from '../../../src/api/context.ts'
import { digestOf } from '../../../src/core/model/accountKey.ts'
import type { Digest, EntityId, TeamId } from '../../../src/core/model/ids.ts'
import { AccountKeysIncomplete } from '../../../src/core/redis/accountKeyStore.ts'
import type { FoundKey, Lookup } from '../../../src/core/redis/keyLookups.ts'
import type { Freshness } from '../../../src/core/redis/listVersions.ts'
import { handClock } from '../../support/handClock.ts'

const accountKey: FoundKey = {
  ...{ teamId: 'team-1' as TeamId, keyId: 'key-1' as EntityId, state: 'active', expiresAtMs: null },
}
const freshness: Freshness = {
  ...{ watermark: null, versions: { forms: null, submissions: null } },
  indices: { forms: undefined, submissions: undefined },
}
const window = { requests: 1, leftMs: 1_000 }
const lookupOf = (accountKey: FoundKey | null): Lookup =>
  accountKey === null ? { kind: 'unknown' } : { kind: 'found', accountKey, freshness, window }

const headersSet: Record<string, unknown> = {}
const contextOf = (authorization: string, res = new EventEmitter()): ApiContext =>
  ({
    ...{ res, state: {}, req: { headersDistinct: {} }, get: () => authorization },
    set: (name: string, value: unknown) => Object.assign(headersSet, { [name]: value }),
  }) as unknown as ApiContext

describe('a key that is looked up again', () => {
  const judgeAgain = async (lookup: Lookup, nowMs = 0): Promise<unknown> => {
    const ctx = Object.assign(contextOf('Bearer rqp_acct_1'), { state: { accountKey } }) as unknown as RouteContext
    try {
      await createRecheck(
        async () => lookup,
        () => nowMs,
      )(ctx)
      return ctx.state
    } catch (error) {
      return error
    }
  }

  test('passes with the current watermark and versions', async () => {
    expect(await judgeAgain(lookupOf(accountKey))).toEqual({ accountKey, freshness })
  })

  test.each([
    ['unknown', null, 0],
    ['expired', { ...accountKey, expiresAtMs: 100 }, 100],
    ['now that of another team', { ...accountKey, teamId: 'team-2' as TeamId }, 0],
  ])('is refused when it is %s', async (_why, found, nowMs) => {
    expect(await judgeAgain(lookupOf(found), nowMs)).toMatchObject({
      code: 'unauthorized',
      headers: { 'WWW-Authenticate': 'Bearer error="invalid_token"' },
    })
  })

  test('is neither accepted nor refused when Redis cannot answer', async () => {
    expect(await judgeAgain({ kind: 'incomplete' })).toBeInstanceOf(AccountKeysIncomplete)
  })
})

test('a team may have 512 concurrent requests, and all teams 2,048; a refused request gets the RateLimit headers, too', async () => {
  let teamId = accountKey.teamId
  const pass = authenticate(
    async () => lookupOf({ ...accountKey, teamId }),
    1,
    () => 0,
  )
  const start = (response = new EventEmitter()): Promise<void> =>
    pass(contextOf('Bearer rqp_acct_1', response), async () => undefined)
  // Who disconnected before takes no place.
  for (let at = 0; at < 512; at++) await start(Object.assign(new EventEmitter(), { closed: true }))
  const running = Array.from({ length: 512 }, () => new EventEmitter())
  for (const response of running) await start(response)
  await expect(start()).rejects.toMatchObject({ status: 429 })
  expect(headersSet).toEqual({ 'RateLimit-Policy': '"key";q=1;w=60', RateLimit: '"key";r=0;t=1' })
  running[0]?.emit('close')
  await start()
  await expect(start()).rejects.toMatchObject({ status: 429 })
  for (const other of ['team-2', 'team-3', 'team-4']) {
    teamId = other as TeamId
    for (let at = 0; at < 512; at++) await start()
  }
  teamId = 'team-5' as TeamId
  await expect(start()).rejects.toMatchObject({ status: 503 })
})

const [first, second] = ['rqp_acct_1', 'rqp_acct_2'] as const
const [one, two] = [digestOf(first), digestOf(second)]
const accountKeyOf = (keyId: string): FoundKey => ({ ...accountKey, keyId: keyId as EntityId })

/** A watch whose clock and ticks, and whose Redis, are in the hands of the test. */
function openWatch() {
  const found = new Map<Digest, FoundKey | null>([
    [one, accountKeyOf('one')],
    [two, accountKeyOf('two')],
  ])
  const asked: Digest[][] = []
  const refused: string[] = []
  const { nowMs, isTicking, tickAt } = handClock()
  let read = async (digests: readonly Digest[]): Promise<(FoundKey | null)[] | undefined> =>
    digests.map((digest) => found.get(digest) ?? null)
  const watchKey = watchKeys((digests) => {
    asked.push([...digests])
    return read(digests)
  }, nowMs)
  return {
    ...{ found, asked, refused, isTicking, tickAt },
    redisAnswers: (with_: typeof read) => {
      read = with_
    },
    watch: (name: string, key: string, keyId: string) => {
      const carrier = { get: () => `Bearer ${key}`, req: { headersDistinct: {} } }
      const ctx = { ...carrier, state: { accountKey: accountKeyOf(keyId) } } as unknown as RouteContext
      return watchKey(ctx, () => refused.push(name))
    },
  }
}

afterEach(() => jest.useRealTimers())

test.each([
  ['revoked', { ...accountKeyOf('one'), state: 'revoked' as const }],
  ['deleted', null],
  ['expired', { ...accountKeyOf('one'), expiresAtMs: 400 }],
  ['that of another key', accountKeyOf('three')],
])('a watched request whose key is %s is refused, and no other request', async (_how, current) => {
  const { watch, found, refused, tickAt } = openWatch()
  watch('a', first, 'one')
  watch('b', second, 'two')
  await tickAt(0)
  expect(refused).toEqual([])
  found.set(one, current)
  await tickAt(400)
  expect(refused).toEqual(['a'])
})

test('one look-up reads all watched keys, each once, and none is made while no request is watched', async () => {
  const { watch, asked, isTicking, tickAt } = openWatch()
  expect(isTicking()).toBe(false)
  const ends = [watch('a', first, 'one'), watch('b', first, 'one'), watch('c', second, 'two')]
  await tickAt(400)
  expect(asked).toEqual([[one, two]])
  for (const end of ends) end()
  expect(isTicking()).toBe(false)
})

test('no watched request is refused while keys cannot be looked up, and the next look-up decides', async () => {
  const { watch, found, redisAnswers, refused, tickAt } = openWatch()
  watch('a', first, 'one')
  found.set(one, null)
  redisAnswers(() => Promise.reject(new Error('away')))
  await tickAt(400)
  redisAnswers(async () => undefined)
  await tickAt(800)
  expect(refused).toEqual([])
  redisAnswers(async () => [null])
  await tickAt(1_200)
  expect(refused).toEqual(['a'])
})

test('a look-up of watched keys begins only after the previous one has ended', async () => {
  const { watch, asked, redisAnswers, tickAt } = openWatch()
  redisAnswers(() => new Promise(() => undefined))
  watch('a', first, 'one')
  for (const atMs of [400, 800]) await tickAt(atMs)
  expect(asked).toHaveLength(1)
})
