import { randomToken, type TeamId, teamList } from '../../src/core/model/ids.ts'
import type { GenerationTag } from '../../src/core/stores/indices.ts'
import { readVersionsOf } from '../../src/core/stores/listVersions.ts'
import { readVisibleList } from '../../src/core/stores/readVisiblePositions.ts'
import { acquireSwitchLock, releaseSwitchLock, setServing } from '../../src/core/stores/serving.ts'
import {
  carryVisiblePositions,
  knowsDeletions,
  type PublishedRound,
  publishVisiblePositions,
} from '../../src/core/stores/visiblePositions.ts'
import { readFreshness } from '../support/freshness.ts'
import { useRedis } from '../support/redisPair.ts'
import { visibleRound } from '../support/visibleRound.ts'

const redis = useRedis()
const [acme, other] = ['acme', 'other'].map((text) => text as TeamId) as [TeamId, TeamId]
const first = '1-0123456789abcdef' as GenerationTag
const second = '2-0123456789abcdef' as GenerationTag
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

test('a partition whose time is not known any more has none, so that there is no watermark; its position stays', async () => {
  await publish(0, 7)
  await publish(7, 8, { partitions: [{ type: 'forms', partition: 0, from: 7n, to: 8n, timeMs: 0 }] })
  expect((await visible())?.partitions).toEqual([{ position: 8, timeMs: 0 }])
  expect((await readFreshness(redis, acme, randomToken)).watermark).toBeNull()
})

test('nothing is known to be visible before every partition is, and unknown is not zero', async () => {
  const partitionCounts = { forms: 2, submissions: 1 }
  await publish(0, 7, { partitionCounts })
  expect(await visible()).toBeUndefined()
  await publish(0, 0, { partitionCounts, partitions: [{ type: 'forms', partition: 1, from: 0n, to: 0n, timeMs: 5 }] })
  expect(await positions()).toEqual([7, 0])
  // An indexer that does not know yet of an added partition does not take it back.
  await publish(7, 8)
  expect(await positions()).toEqual([8, 0])
})

test('a list that changed has another version, and so has none of another team', async () => {
  await publish(0, 7)
  const before = [await versionOf(acme), await versionOf(other)]
  await publish(7, 8, { lists: [list] })
  const after = [await versionOf(acme), await versionOf(other)]
  expect(after[0]).not.toBe(before[0])
  expect(after[1]).toBe(before[1])
  expect(await readVersionsOf(redis, [list, teamList('forms', other)])).toEqual(after)
  expect((await visible())?.version).toBe(after[0])
})

test('after a loss of publications, every list has another version', async () => {
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

test('while a rebuild switches, the generation that serves publishes no positions, and another one does', async () => {
  await publish(0, 7)
  const before = await versionOf(acme)
  await acquireSwitchLock(redis, 'rebuild', 10_000)
  expect(await publish(7, 8, { lists: [list] })).toBe('held')
  expect(await publish(0, 5, { generation: second })).toBe('incomplete')
  expect(await positions()).toEqual([7])
  expect(await versionOf(acme)).not.toBe(before)
  await releaseSwitchLock(redis, 'rebuild')
  expect(await publish(7, 8)).toBe('incomplete')
})

test('the next generation goes on at the higher of both positions, with the cursors of the one before', async () => {
  await publish(0, 7)
  await publish(0, 5, { generation: second })
  const cursorKeys = visibleRound({}).cursorKeys
  const reached = [{ type: 'forms', partition: 0, to: 6n, timeMs: 9 } as const]
  await carryVisiblePositions(redis, { from: first, to: second, cursorKeys, reached, replaced: new Set() })
  await setServing(redis, second)
  expect(await visible()).toMatchObject({ partitions: [{ position: 7, timeMs: 9 }], cursorKey: cursorKeys.forms })
})

test('positions in a log that was replaced are not carried on', async () => {
  await publish(0, 7)
  const cursorKeys = visibleRound({}).cursorKeys
  const reached = [{ type: 'forms', partition: 0, to: 2n, timeMs: 9 } as const]
  await carryVisiblePositions(redis, { from: first, to: second, cursorKeys, reached, replaced: new Set(['forms']) })
  await publish(2, 2, { generation: second })
  await setServing(redis, second)
  expect(await positions()).toEqual([2])
})

test('a generation that may lack deletions shows nothing more to followers, also to those whose lists have not changed', async () => {
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
