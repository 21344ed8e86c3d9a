import { jest } from '@jest/globals'
import type { EntityId, TeamId } from '../../../../src/core/model/ids.ts'
import type { Instant } from '../../../../src/core/model/instant.ts'
import { countKeyUse } from '../../../../src/core/redis/keyUse.ts'
import { sumOfLast } from '../../../../src/core/redis/readKeyUse.ts'
import type { RedisConnection } from '../../../../src/core/redis/redis.ts'
import { redisKeys } from '../../../../src/core/redis/redisKeys.ts'
import { handClock } from '../../../support/handClock.ts'

const keyOf = (id: string, team = 'acme') => ({ teamId: team as TeamId, keyId: id as EntityId })
const startMs = Date.parse('2026-11-21T10:59:30.000Z')

/** A count whose clock is in the hands of the test, and what it sent to Redis. */
function openCount() {
  const clock = handClock()
  const sent: string[] = []
  let answer = async (): Promise<unknown> => undefined
  const command =
    (name: string) =>
    (...args: readonly unknown[]): Promise<unknown> => {
      sent.push([name, ...args].join(' '))
      return answer()
    }
  const client = { hincrby: command('HINCRBY'), hset: command('HSET'), expire: command('EXPIRE') }
  const redis = { client, keys: redisKeys('t') } as unknown as RedisConnection
  return {
    ...clock,
    sent,
    use: countKeyUse(
      redis,
      () => startMs + clock.nowMs(),
      () => 0.5,
    ),
    redisAnswers: (with_: typeof answer) => {
      answer = with_
    },
  }
}

afterEach(() => jest.useRealTimers())

test('requests, refusals (429) and mistakes (400) of each key are added to the hour once a minute', async () => {
  const { use, sent, tickAt, isTicking } = openCount()
  expect(isTicking()).toBe(false)
  for (const status of [200, 429, 404, 400, 429]) use.count(keyOf('k1'), status)
  use.count(keyOf('k1', 'other'), 200)
  await tickAt(54_999)
  expect(sent).toEqual([])
  await tickAt(55_000)
  expect(sent).toEqual([
    'HINCRBY t:key-use:2026-11-21T11:acme requests/k1 5',
    'HINCRBY t:key-use:2026-11-21T11:acme refusals/k1 2',
    'HINCRBY t:key-use:2026-11-21T11:acme mistakes/k1 1',
    'EXPIRE t:key-use:2026-11-21T11:acme 90000',
    'HINCRBY t:key-use:2026-11-21T11:other requests/k1 1',
    'EXPIRE t:key-use:2026-11-21T11:other 90000',
  ])
  expect(isTicking()).toBe(false)
})

test('the time until which a key has read a feed is stored, also when a later answer does not contain it', async () => {
  const { use, sent, tickAt } = openCount()
  const readTo = '2026-11-21T10:59:29.000Z' as Instant
  use.noteFeed(keyOf('k1'), 'submissions', readTo)
  await tickAt(1_000)
  use.noteFeed(keyOf('k1'), 'submissions', undefined)
  use.noteFeed(keyOf('k1'), 'forms', undefined)
  await use.share()
  const at = '2026-11-21T10:59:31.000Z'
  expect(sent).toEqual([
    `HSET t:feed-use:acme/k1 asked/submissions ${at} read/submissions ${readTo} asked/forms ${at}`,
    'EXPIRE t:feed-use:acme/k1 7776000',
  ])
})

test('while Redis is away, numbers are lost, and requests go on', async () => {
  const { use, sent, tickAt, redisAnswers } = openCount()
  redisAnswers(() => Promise.reject(new Error('away')))
  use.count(keyOf('k1'), 200)
  await tickAt(60_000)
  redisAnswers(async () => undefined)
  sent.length = 0
  use.count(keyOf('k1'), 200)
  await use.share()
  expect(sent).toContain('HINCRBY t:key-use:2026-11-21T11:acme requests/k1 1')
  await use.share()
  expect(sent).toHaveLength(2)
})

test('at most 10,000 keys are counted in a minute', async () => {
  const { use, sent } = openCount()
  for (let at = 0; at < 10_001; at++) for (let times = 0; times < 2; times++) use.count(keyOf(`k${at}`), 200)
  await use.share()
  const counted = sent.filter((command) => command.startsWith('HINCRBY'))
  expect([counted.length, counted.at(-1)]).toEqual([10_000, expect.stringMatching(/requests\/k9999 2$/)])
})

test.each([
  ['12:00', 1, 10 + 20],
  ['12:15', 1, 10 + 15],
  ['12:59', 1, 10 + 0],
  ['12:15', 2, 10 + 20 + 30],
  ['12:15', 24, 10 + 20 + 40],
])('at %s, the last %i hours are the hours of the clock, and a part of the oldest', (time, hours, requests) => {
  const counts = (requests: number) => ({ requests, refusals: 1, mistakes: 0 })
  const sum = sumOfLast(hours, [10, 20, 40].map(counts), Date.parse(`2026-11-21T${time}:00.000Z`))
  expect(sum).toMatchObject({ requests, mistakes: 0 })
})
