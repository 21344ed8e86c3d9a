import { randomToken, type TeamId } from '../../src/core/model/ids.ts'
import type { GenerationTag } from '../../src/core/stores/indices.ts'
import {
  acquireWatermarkHold,
  claimPartitions,
  noteRaised,
  publishWatermark,
  releaseWatermarkHold,
  setWatermarkGeneration,
} from '../../src/core/stores/watermark.ts'
import { readFreshness } from '../support/freshness.ts'
import { useRedis } from '../support/redisPair.ts'

const both = ['forms/0', 'submissions/0']
const first = '1-0123456789abcdef' as GenerationTag
const second = '2-0123456789abcdef' as GenerationTag

type WatermarkResult = Awaited<ReturnType<typeof publishWatermark>>

const redis = useRedis()
const publish = (
  watermarks: Record<string, number>,
  everyPartition = both,
  generation = first,
  owner = 'a',
  connection = redis,
  highestMs: number | undefined = undefined,
): Promise<WatermarkResult> =>
  publishWatermark(connection, {
    generation,
    owner,
    everyPartition,
    partitionWatermarks: new Map(Object.entries(watermarks)),
    highestMs,
    isWithheld: false,
  })
const team = 'acme' as TeamId
const watermark = async (): Promise<string | null> => (await readFreshness(redis, team, randomToken)).watermark

beforeEach(() => setWatermarkGeneration(redis, first, undefined))

test('the watermark is the lowest of all partitions, whether their owners publish any or not, and never goes back', async () => {
  expect(await publish({ 'forms/0': 5_000 })).toBe('incomplete')
  expect(await watermark()).toBeNull()
  expect(await publish({ 'submissions/0': 3_000 })).toBe(3_000)
  await publish({ 'forms/0': 9_000 })
  expect(await watermark()).toBe('1970-01-01T00:00:03.000Z')
  await publish({ 'forms/0': 1_000, 'submissions/0': 6_000 })
  expect(await watermark()).toBe('1970-01-01T00:00:06.000Z')
  await publish({ 'submissions/1': 2_000 }, [...both, 'submissions/1'])
  expect(await watermark()).toBe('1970-01-01T00:00:06.000Z')
})

test('the watermark stands still while it is held, and goes on once the holder, and nobody else, lets it go', async () => {
  await publish({ 'forms/0': 1_000, 'submissions/0': 1_000 })
  expect(await acquireWatermarkHold(redis, 'a', 60_000)).toBe(true)
  expect(await acquireWatermarkHold(redis, 'b', 60_000)).toBe(false)
  const later = { 'forms/0': 2_000, 'submissions/0': 2_000 }
  expect(await publish(later)).toBe('held')
  expect(await releaseWatermarkHold(redis, 'b')).toBe(false)
  expect(await watermark()).toBe('1970-01-01T00:00:01.000Z')
  expect(await releaseWatermarkHold(redis, 'a')).toBe(true)
  expect(await publish(later)).toBe(2_000)
})

test('a watermark is not moved by partitions of a retired generation, and stays where it was until the new one is further', async () => {
  await publish({ 'forms/0': 5_000, 'submissions/0': 5_000 })
  await setWatermarkGeneration(redis, second, undefined)
  expect(await publish({ 'forms/0': 9_000, 'submissions/0': 9_000 })).toBe('superseded')
  expect(await publish({ 'forms/0': 3_000 }, both, second)).toBe('incomplete')
  expect(await watermark()).toBe('1970-01-01T00:00:05.000Z')
  await publish({ 'forms/0': 7_000, 'submissions/0': 6_000 }, both, second)
  expect(await watermark()).toBe('1970-01-01T00:00:06.000Z')
})

test('the watermark of a generation that is built anew is absent until it holds what was promised before', async () => {
  await publish({ 'forms/0': 5_000, 'submissions/0': 5_000 })
  await setWatermarkGeneration(redis, second, 8_000)
  expect(await watermark()).toBeNull()
  expect(await publish({ 'forms/0': 9_000, 'submissions/0': 7_000 }, both, second)).toBe('behind')
  // Another indexer starts meanwhile and finds the generation as the one to write.
  await setWatermarkGeneration(redis, second, undefined)
  expect(await publish({}, both, second)).toBe('behind')
  expect(await publish({ 'submissions/0': 8_000 }, both, second)).toBe(8_000)
})

test('the watermark stays that of the generation that a rebuild has switched to, when an indexer adopts one that it found before the switch', async () => {
  const third = '3-0123456789abcdef' as GenerationTag
  await setWatermarkGeneration(redis, second, undefined)
  const late = setWatermarkGeneration(redis, third, undefined, first)
  await expect(late).rejects.toThrow('another generation has been adopted meanwhile')
  expect(await publish({}, both, second)).toBe('incomplete')
  await setWatermarkGeneration(redis, third, undefined, second)
  await setWatermarkGeneration(redis, third, undefined, first)
  expect(await publish({}, both, third)).toBe('incomplete')
  await redis.client.del(redis.keys.watermark)
  await setWatermarkGeneration(redis, first, undefined, second)
  expect(await publish({})).toBe('incomplete')
})

test('the watermark of a Redis that was flushed is published again only for a generation that is named again', async () => {
  await redis.client.del(redis.keys.watermark)
  expect(await publish({ 'forms/0': 5_000, 'submissions/0': 5_000 })).toBe('forgotten')
  await setWatermarkGeneration(redis, first, undefined)
  expect(await publish({ 'forms/0': 5_000, 'submissions/0': 5_000 })).toBe(5_000)
})

test('a watermark waits for every partition after Redis came back, perhaps with an older state: readers were told more', async () => {
  await publish({ 'forms/0': 1_000, 'submissions/0': 1_000 })
  const restarted = { ...redis, runId: () => 'another' }
  const publishThen = (watermarks: Record<string, number>): Promise<WatermarkResult> =>
    publish(watermarks, both, first, 'a', restarted)
  expect(await publishThen({ 'forms/0': 9_000 })).toBe('incomplete')
  expect(await publishThen({ 'submissions/0': 8_000 })).toBe(8_000)
})

test('only the owner of the newest claim of a partition publishes its watermark', async () => {
  const told = (watermarkMs: number | undefined) => ({ watermarkMs, changedAtRaisedByMs: 0 })
  expect(await claimPartitions(redis, 'a', both, undefined)).toMatchObject(told(undefined))
  expect(await publish({ 'forms/0': 50, 'submissions/0': 60 })).toBe(50)
  expect(await claimPartitions(redis, 'b', ['forms/0'], 40)).toMatchObject(told(50))
  expect(await publish({ 'forms/0': 70, 'submissions/0': 70 })).toBe('displaced')
  expect(await publish({ 'submissions/0': 70 })).toBe('incomplete')
  expect(await publish({ 'forms/0': 65 }, both, first, 'b')).toBe(65)
})

test('a claim is told the greatest watermark and the greatest raise, also after a lost generation withdrew the watermark', async () => {
  await publish({ 'forms/0': 50, 'submissions/0': 60 })
  await noteRaised(redis, 12.5)
  await noteRaised(redis, 7)
  await setWatermarkGeneration(redis, second, 1_000)
  expect(await watermark()).toBeNull()
  const told = { watermarkMs: 50, changedAtRaisedByMs: 13 }
  expect(await claimPartitions(redis, 'b', both, undefined)).toMatchObject(told)
})

test('a partition watermark of a former owner, while another partition is behind, is not published later', async () => {
  await publish({ 'forms/0': 90, 'submissions/0': 60 })
  expect(await claimPartitions(redis, 'b', ['forms/0'], undefined)).toMatchObject({ watermarkMs: 60 })
  expect(await publish({ 'submissions/0': 95 })).toBe('incomplete')
  expect(await publish({ 'forms/0': 70 }, both, first, 'b')).toBe(70)
})

test('a watermark is never below one that its publisher knows of, also when Redis has lost that and the clocks disagree', async () => {
  const told = (watermarkMs: number, highestMs: number): Promise<WatermarkResult> =>
    publish({ 'forms/0': watermarkMs, 'submissions/0': watermarkMs }, both, first, 'a', redis, highestMs)
  expect(await told(1_000, 5_000)).toBe('behind')
  expect(await watermark()).toBeNull()
  expect(await told(6_000, 5_000)).toBe(6_000)
  expect(await claimPartitions(redis, 'b', both, 7_000)).toMatchObject({ watermarkMs: 7_000, changedAtRaisedByMs: 0 })
  expect(await claimPartitions(redis, 'c', both, undefined)).toMatchObject({ watermarkMs: 7_000 })
})
