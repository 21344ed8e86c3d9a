import { type TeamId, teamList } from '../../src/core/model/ids.ts'
import { markPending, type PendingMark, pendingMarkLifeMs, unmarkPending } from '../../src/core/stores/pendingMarks.ts'
import { claimPartitions } from '../../src/core/stores/watermark.ts'
import { useRedis } from '../support/redisPair.ts'

const list = teamList('forms', 'acme' as TeamId)

const redis = useRedis()

/** Partition → owner. */
const held = async (): Promise<Record<string, string>> => {
  const marks = Object.entries(await redis.client.hgetall(redis.keys.pendingWrites(list)))
  return Object.fromEntries(marks.map(([partition, mark]) => [partition, mark.split(' ')[0] ?? '']))
}

const claim = (owner: string): Promise<unknown> => claimPartitions(redis, owner, ['forms/0', 'forms/1'], undefined)
const mark = (owner: string, partition = 'forms/0', of = list): PendingMark => ({ list: of, partition, owner })

beforeEach(() => claim('a'))

test('more marks than one script takes are all set and all removed', async () => {
  const many = Array.from({ length: 2_001 }, (_, at) => mark('a', 'forms/0', teamList('forms', `t${at}` as TeamId)))
  const counted = async (): Promise<number> =>
    await redis.client.exists(...many.map((each) => redis.keys.pendingWrites(each.list)))
  await markPending(redis, many)
  expect(await counted()).toBe(many.length)
  await unmarkPending(redis, many)
  expect(await counted()).toBe(0)
})

test('a list has a mark for each partition; whoever claims one next takes over its mark, and only that one removes it', async () => {
  await markPending(redis, [mark('a', 'forms/0'), mark('a', 'forms/1')])
  await claim('b')
  await markPending(redis, [mark('b')])
  expect(await held()).toEqual({ 'forms/0': 'b', 'forms/1': 'a' })
  await unmarkPending(redis, [mark('a', 'forms/0'), mark('a', 'forms/1')])
  expect(await held()).toEqual({ 'forms/0': 'b' })
  await unmarkPending(redis, [mark('b')])
  expect(await redis.client.exists(redis.keys.pendingWrites(list))).toBe(0)
})

test('a former claimant that still writes marks its lists, but replaces no mark of the present one', async () => {
  await claim('b')
  await markPending(redis, [mark('b', 'forms/0'), mark('a', 'forms/0'), mark('a', 'forms/1')])
  expect(await held()).toEqual({ 'forms/0': 'b', 'forms/1': 'a' })
})

test('a mark that nobody removes goes after an hour, whatever else is marked meanwhile', async () => {
  await markPending(redis, [mark('a', 'forms/0'), mark('a', 'forms/1')])
  const name = redis.keys.pendingWrites(list)
  const [owner, untilMs] = (await redis.client.hget(name, 'forms/0'))?.split(' ') ?? []
  expect(Number(untilMs) - Date.now()).toBeGreaterThan(pendingMarkLifeMs - 60_000)
  // As if it had been set an hour ago.
  await redis.client.hset(name, 'forms/0', `${owner} ${Number(untilMs) - pendingMarkLifeMs - 1}`)
  await redis.client.pexpire(name, 10_000)
  await markPending(redis, [mark('a', 'forms/1')])
  expect(await held()).toEqual({ 'forms/1': 'a' })
  expect(await redis.client.pttl(name)).toBeGreaterThan(pendingMarkLifeMs - 60_000)
})

test('a mark that is set again counts for another hour', async () => {
  await markPending(redis, [mark('a')])
  const name = redis.keys.pendingWrites(list)
  await redis.client.hset(name, 'forms/0', `a ${Date.now() + 1_000}`)
  await markPending(redis, [mark('a')])
  expect(Number((await redis.client.hget(name, 'forms/0'))?.split(' ')[1])).toBeGreaterThan(Date.now() + 1_000_000)
})
