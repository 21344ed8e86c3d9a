import type { GenerationTag } from '../../src/core/elasticsearch/indices.ts'
import { randomToken, type TeamId, teamList } from '../../src/core/model/ids.ts'
import { readVersionsOf } from '../../src/core/redis/listVersions.ts'
import { readVisibleList } from '../../src/core/redis/readVisiblePositions.ts'
import { acquireSwitchLock, readServing, releaseSwitchLock, setServing } from '../../src/core/redis/serving.ts'
import { type RequestedSwitch, switchServing } from '../../src/core/redis/switchServing.ts'
import { knowsDeletions, type PublishedRound, publishVisiblePositions } from '../../src/core/redis/visiblePositions.ts'
import { readFreshness } from '../support/freshness.ts'
import { useRedis } from '../support/redisPair.ts'
import { visibleRound } from '../support/visibleRound.ts'

const redis = useRedis()
const [acme, other] = ['acme', 'other'].map((text) => text as TeamId) as [TeamId, TeamId]
const first = '1-0123456789abcdef' as GenerationTag
const second = '2-0123456789abcdef' as GenerationTag
const third = '3-0123456789abcdef' as GenerationTag
const list = teamList('forms', acme)

/** Publishes that a partition of forms is visible from `from` to `to`. */
const publish = (from: number, to: number, changes: Partial<PublishedRound> = {}): Promise<string> =>
  publishVisiblePositions(
    redis,
    visibleRound({
      partitions: [{ type: 'forms', partition: 0, from: BigInt(from), to: BigInt(to), timeMs: to }],
      ...changes,
    }),
  ).then(({ outcome }) => outcome)
const visible = async () => (await readVisibleList(redis, 'forms', acme)).visible
const positions = async (): Promise<number[] | undefined> => (await visible())?.partitions.map((each) => each.position)
const versionOf = async (team: TeamId) => (await readFreshness(redis, team, randomToken)).versions.forms

beforeEach(() => setServing(redis, first))

test('positions and times are raised, never lowered', async () => {
  await publish(0, 7)
  await publish(0, 3)
  expect((await visible())?.partitions).toEqual([{ position: 7, timeMs: 7 }])
})

test('a partition whose time is no longer known keeps its position, and there is no watermark', async () => {
  await publish(0, 7)
  await publish(7, 8, { partitions: [{ type: 'forms', partition: 0, from: 7n, to: 8n, timeMs: 0 }] })
  expect((await visible())?.partitions).toEqual([{ position: 8, timeMs: 0 }])
  expect((await readFreshness(redis, acme, randomToken)).watermark).toBeNull()
})

test('positions are unknown, not zero, until every partition has one', async () => {
  const partitionCounts = { forms: 2, submissions: 1 }
  await publish(0, 7, { partitionCounts })
  expect(await visible()).toBeUndefined()
  await publish(0, 0, { partitionCounts, partitions: [{ type: 'forms', partition: 1, from: 0n, to: 0n, timeMs: 5 }] })
  expect(await positions()).toEqual([7, 0])
  // An indexer that does not know yet of an added partition does not take it back.
  await publish(7, 8)
  expect(await positions()).toEqual([8, 0])
})

test('a changed list has another version, and no list of another team has', async () => {
  await publish(0, 7)
  const before = [await versionOf(acme), await versionOf(other)]
  await publish(7, 8, { lists: [list] })
  const after = [await versionOf(acme), await versionOf(other)]
  expect(after[0]).not.toBe(before[0])
  expect(after[1]).toBe(before[1])
  expect(await readVersionsOf(redis, [list, teamList('forms', other)])).toEqual(after)
  expect((await visible())?.version).toBe(after[0])
})

test('after Redis lost publications, every list has another version', async () => {
  await publish(0, 7)
  const before = await versionOf(other)
  // What was published from 7 to 9 is lost with Redis.
  await publish(9, 10, { lists: [list] })
  const after = await versionOf(other)
  expect(after).not.toBe(before)
  await publish(10, 11, { lists: [list] })
  expect(await versionOf(other)).toBe(after)
  await redis.client.del(redis.keys.visiblePositions('forms', first), redis.keys.visiblePositions('submissions', first))
  expect(await versionOf(other)).toBeNull()
  await publish(11, 12)
  expect(await versionOf(other)).not.toBe(after)
})

test('while a rebuild switches, the serving generation cannot publish positions, and the next one can', async () => {
  await publish(0, 7)
  const before = await versionOf(acme)
  await acquireSwitchLock(redis, 'rebuild', 10_000)
  expect(await publish(7, 8, { lists: [list] })).toBe('locked')
  expect(await publish(0, 5, { generation: second })).toBe('incomplete')
  expect(await positions()).toEqual([7])
  expect(await versionOf(acme)).not.toBe(before)
  await releaseSwitchLock(redis, 'rebuild')
  expect(await publish(7, 8)).toBe('incomplete')
})

/** A switch to the second generation, which has reached `to` of each topic. */
const switchAt = (to: bigint, changes: Partial<RequestedSwitch> = {}) =>
  switchServing(redis, {
    ...{ holder: 'rebuild', from: first, to: { tag: second, indices: visibleRound({}).indices } },
    cursorKeys: visibleRound({}).cursorKeys,
    reached: (['forms', 'submissions'] as const).map((type) => ({ type, partition: 0, to, timeMs: 3 })),
    replaced: new Set(),
    mayLackDeletions: false,
    ...changes,
  })
const lock = () => acquireSwitchLock(redis, 'rebuild', 10_000)

test('a switch makes requests read the next generation, with its positions and no earlier time, and releases the lock', async () => {
  await publish(0, 7)
  const before = await versionOf(acme)
  await publish(0, 5, { generation: second, mayLackDeletions: true })
  await lock()
  expect(await switchAt(8n)).toEqual({ kind: 'switched' })
  const { cursorKeys, indices } = visibleRound({})
  expect(await visible()).toMatchObject({
    ...{ partitions: [{ position: 8, timeMs: 7 }], cursorKey: cursorKeys.forms },
    indices: { index: indices.forms, details: indices['form-details'] },
  })
  expect(await versionOf(acme)).not.toBe(before)
  expect(await lock()).toBe(true)
  // Its reply was lost.
  expect(await switchAt(8n)).toEqual({ kind: 'switched' })
  expect(await publish(0, 9)).toBe('incomplete')
  expect(await positions()).toEqual([8])
})

test('a generation that may lack deletions serves without a watermark and without change feeds', async () => {
  await publish(0, 7)
  await lock()
  expect(await switchAt(8n, { mayLackDeletions: true })).toEqual({ kind: 'switched' })
  expect(await readServing(redis)).toBe(second)
  expect(await visible()).toBeUndefined()
})

test('a rebuild that has lost its lock does not switch', async () => {
  await publish(0, 7)
  expect(await switchAt(8n)).toEqual({ kind: 'lock lost' })
  await acquireSwitchLock(redis, 'another rebuild', 10_000)
  expect(await switchAt(8n)).toEqual({ kind: 'lock lost' })
  expect(await readServing(redis)).toBe(first)
})

test('a rebuild whose positions are behind the serving generation does not switch, unless the topic was replaced', async () => {
  await publish(0, 7)
  await publish(0, 7, { partitions: [{ type: 'submissions', partition: 0, from: 0n, to: 2n, timeMs: 7 }] })
  await lock()
  expect(await switchAt(1n, { replaced: new Set(['forms']) })).toMatchObject({ kind: 'behind', type: 'submissions' })
  expect(await switchAt(6n)).toEqual({ kind: 'behind', type: 'forms', partition: 0 })
  expect([await readServing(redis), await positions()]).toEqual([first, [7]])
  expect(await switchAt(6n, { replaced: new Set(['forms']) })).toEqual({ kind: 'switched' })
  expect((await visible())?.partitions).toEqual([{ position: 6, timeMs: 3 }])
})

test('a rebuild that was compared with another generation than the serving one does not switch, except in an emptied Redis', async () => {
  await setServing(redis, third)
  await lock()
  expect(await switchAt(8n)).toEqual({ kind: 'another serves', serving: third })
  await redis.client.del(redis.keys.serving)
  expect(await switchAt(8n)).toEqual({ kind: 'switched' })
  expect([await readServing(redis), await positions()]).toEqual([second, [8]])
})

test('a list has indices and a version once the positions of all its partitions are known', async () => {
  const partitionCounts = { forms: 2, submissions: 1 }
  const named = async () => (await readFreshness(redis, acme, randomToken)).indices.forms
  await publish(0, 7, { partitionCounts })
  expect([await named(), await versionOf(acme), await readVersionsOf(redis, [list])]).toEqual([undefined, null, [null]])
  await publish(0, 7, { partitionCounts, partitions: [{ type: 'forms', partition: 1, from: 0n, to: 0n, timeMs: 5 }] })
  expect(await named()).toEqual({ index: 'forms-1', details: 'form-details-1' })
  expect(await readVersionsOf(redis, [list])).toEqual([await versionOf(acme)])
})

test('a generation that may lack deletions has no visible positions for followers, and new versions of every list', async () => {
  await publish(0, 7)
  expect(await knowsDeletions(redis, first)).toBe(true)
  const before = await versionOf(other)
  await publish(7, 8, { mayLackDeletions: true })
  const after = await versionOf(other)
  expect(after).not.toBe(before)
  await publish(8, 9, { mayLackDeletions: true })
  expect(await versionOf(other)).toBe(after)
  expect(await visible()).toBeUndefined()
  expect(await knowsDeletions(redis, first)).toBe(false)
  expect(await knowsDeletions(redis, second)).toBe(false)
})
