import { jest } from '@jest/globals'
import type { RouteContext } from '../../../src/api/context.ts'
import { watchKeys } from '../../../src/api/keyWatch.ts'
import { digestOf } from '../../../src/core/model/accountKey.ts'
import type { Digest, EntityId, TeamId } from '../../../src/core/model/ids.ts'
import type { KeyHolder } from '../../../src/core/stores/accountKeyStore.ts'
import { handClock } from '../../support/handClock.ts'

const [first, second] = ['rqp_acct_1', 'rqp_acct_2'] as const
const [one, two] = [digestOf(first), digestOf(second)]
const holderOf = (keyId: string): KeyHolder => ({
  teamId: 'acme' as TeamId,
  keyId: keyId as EntityId,
  state: 'active',
  expiresAtMs: null,
})

/** A watch whose clock and ticks, and whose Redis, are in the hands of the test. */
function openWatch() {
  const found = new Map<Digest, KeyHolder | null>([
    [one, holderOf('one')],
    [two, holderOf('two')],
  ])
  const asked: Digest[][] = []
  const refused: string[] = []
  const { nowMs, isTicking, tickAt } = handClock()
  let read = async (digests: readonly Digest[]): Promise<(KeyHolder | null)[] | undefined> =>
    digests.map((digest) => found.get(digest) ?? null)
  const watchKey = watchKeys((digests) => {
    asked.push([...digests])
    return read(digests)
  }, nowMs)
  return {
    found,
    asked,
    refused,
    isTicking,
    tickAt,
    redisAnswers: (with_: typeof read) => {
      read = with_
    },
    watch: (name: string, key: string, keyId: string) => {
      const carrier = { get: () => `Bearer ${key}`, req: { headersDistinct: {} } }
      const ctx = { ...carrier, state: { holder: holderOf(keyId) } } as unknown as RouteContext
      return watchKey(ctx, () => refused.push(name))
    },
  }
}

afterEach(() => jest.useRealTimers())

test.each([
  ['revoked', { ...holderOf('one'), state: 'revoked' as const }],
  ['deleted', null],
  ['expired', { ...holderOf('one'), expiresAtMs: 400 }],
  ['that of another holder', holderOf('three')],
])('who carries a key that is %s is told, and nobody else', async (_how, holder) => {
  const { watch, found, refused, tickAt } = openWatch()
  watch('a', first, 'one')
  watch('b', second, 'two')
  await tickAt(0)
  expect(refused).toEqual([])
  found.set(one, holder)
  await tickAt(400)
  expect(refused).toEqual(['a'])
})

test('one question asks for all keys, each once; none is asked while there is nobody', async () => {
  const { watch, asked, isTicking, tickAt } = openWatch()
  expect(isTicking()).toBe(false)
  const ends = [watch('a', first, 'one'), watch('b', first, 'one'), watch('c', second, 'two')]
  await tickAt(400)
  expect(asked).toEqual([[one, two]])
  for (const end of ends) end()
  expect(isTicking()).toBe(false)
})

test('while keys cannot be told, nobody is refused; a later question tells', async () => {
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

test('no second question is asked before the first one is answered', async () => {
  const { watch, asked, redisAnswers, tickAt } = openWatch()
  redisAnswers(() => new Promise(() => undefined))
  watch('a', first, 'one')
  for (const atMs of [400, 800]) await tickAt(atMs)
  expect(asked).toHaveLength(1)
})
