import { KeyWatch } from '../../../src/api/keyWatch.ts'
import type { Digest, EntityId, TeamId } from '../../../src/core/model/ids.ts'
import type { KeyHolder } from '../../../src/core/stores/accountKeyStore.ts'
import { handClock } from '../../support/handClock.ts'

const [one, two] = ['1', '2'] as [Digest, Digest]
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
  const { nowMs, repeat, isTicking, tickAt } = handClock()
  let read = async (digests: readonly Digest[]): Promise<(KeyHolder | null)[] | undefined> =>
    digests.map((digest) => found.get(digest) ?? null)
  const keys = new KeyWatch({
    readHolders: (digests) => {
      asked.push([...digests])
      return read(digests)
    },
    nowMs,
    repeat,
  })
  return {
    found,
    asked,
    refused,
    isTicking,
    tickAt,
    redisAnswers: (with_: typeof read) => {
      read = with_
    },
    watch: (name: string, digest: Digest, keyId: string) =>
      keys.watch(digest, holderOf(keyId), () => refused.push(name)),
  }
}

test.each([
  ['revoked', { ...holderOf('one'), state: 'revoked' as const }],
  ['deleted', null],
  ['expired', { ...holderOf('one'), expiresAtMs: 400 }],
  ['that of another holder', holderOf('three')],
])('who carries a key that is %s is told, and nobody else', async (_how, holder) => {
  const { watch, found, refused, tickAt } = openWatch()
  watch('a', one, 'one')
  watch('b', two, 'two')
  await tickAt(0)
  expect(refused).toEqual([])
  found.set(one, holder)
  await tickAt(400)
  expect(refused).toEqual(['a'])
})

test('one question asks for all keys, each once; none is asked while there is nobody', async () => {
  const { watch, asked, isTicking, tickAt } = openWatch()
  expect(isTicking()).toBe(false)
  const ends = [watch('a', one, 'one'), watch('b', one, 'one'), watch('c', two, 'two')]
  await tickAt(400)
  expect(asked).toEqual([[one, two]])
  for (const end of ends) end()
  expect(isTicking()).toBe(false)
})

test('while keys cannot be told, nobody is refused; a later question tells', async () => {
  const { watch, found, redisAnswers, refused, tickAt } = openWatch()
  watch('a', one, 'one')
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
  watch('a', one, 'one')
  for (const atMs of [400, 800]) await tickAt(atMs)
  expect(asked).toHaveLength(1)
})
