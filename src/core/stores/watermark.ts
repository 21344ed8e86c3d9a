import type { GenerationTag } from './indices.ts'
import { type RedisConnection, run } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'
import {
  claimScript,
  extendHoldScript,
  noteRaisedScript,
  publishScript,
  releaseHoldScript,
  setGenerationScript,
} from './redisScripts.ts'

/** `<topic>/<partition>` → epoch ms before which everything appended to that partition is searchable. */
export type PartitionWatermarks = ReadonlyMap<string, number>

/**
 * The result of publishing the watermark. `incomplete`: a partition has no watermark yet; `behind`: a generation that is being rebuilt has not
 * reached the instant at which the rebuild began, or the watermark would be below one that readers were told; `held`: a rebuild is about to switch; `displaced`: another indexer has
 * claimed one of the partitions; `withheld`: a deletion may have been missed in this generation, so that nothing is promised of it; `superseded`: the watermark belongs to another generation; `forgotten`: Redis knows no generation.
 */
export type WatermarkResult =
  | { readonly kind: 'published'; readonly watermarkMs: number }
  | { readonly kind: 'incomplete' | 'behind' | 'held' | 'displaced' | 'withheld' | 'superseded' | 'forgotten' }

/**
 * Publishes the watermarks of the partitions that this indexer owns, for one generation of indices. `everyPartition` names all
 * partitions of both topics: the watermark does not pass one that no indexer owns.
 */
export async function publishWatermark(
  redis: RedisConnection,
  keys: RedisKeys,
  round: {
    readonly generation: GenerationTag
    /** The claim of all of these partitions. */
    readonly owner: string
    readonly everyPartition: readonly string[]
    readonly partitionWatermarks: PartitionWatermarks
    /** The greatest watermark (epoch ms) that this indexer knows of; Redis may have lost it. */
    readonly highestMs: number | undefined
    /** Nothing may be promised of this generation any more. */
    readonly isWithheld: boolean
  },
): Promise<WatermarkResult> {
  const pairs = [...round.partitionWatermarks].flatMap(([partition, epochMs]) => [partition, Math.floor(epochMs)])
  const known = msOrNone(round.highestMs)
  const fixed = [round.generation, runOf(redis), round.owner, JSON.stringify(round.everyPartition)]
  const result = String(
    await run(
      redis,
      publishScript,
      [keys.watermark, keys.watermarkHold, keys.partitionOwners],
      [...fixed, known, round.isWithheld ? 1 : 0, ...pairs],
    ),
  )
  switch (result) {
    case 'held':
    case 'displaced':
    case 'withheld':
    case 'forgotten':
    case 'superseded':
    case 'incomplete':
    case 'behind':
      return { kind: result }
    default:
      return { kind: 'published', watermarkMs: Number(result) }
  }
}

/**
 * Sets the generation whose watermarks count. With `floorMs` (epoch ms) the watermark is withdrawn until everything appended
 * before that instant is searchable: the new generation does not hold yet what the last watermark promised of another one.
 */
export async function setWatermarkGeneration(
  redis: RedisConnection,
  keys: RedisKeys,
  generation: GenerationTag,
  floorMs: number | undefined,
): Promise<void> {
  await run(redis, setGenerationScript, [keys.watermark], [generation, msOrNone(floorMs)])
}

/** The same, unless the watermarks of a third generation count by now instead of those of `instead`; rejects then. */
export async function replaceWatermarkGeneration(
  redis: RedisConnection,
  keys: RedisKeys,
  generation: GenerationTag,
  floorMs: number | undefined,
  instead: GenerationTag | undefined,
): Promise<void> {
  const values = [generation, msOrNone(floorMs), instead ?? '']
  if ((await run(redis, setGenerationScript, [keys.watermark], values)) === 0)
    throw new Error('another generation has been adopted meanwhile')
}

/** For scripts, which have no undefined. */
const msOrNone = (epochMs: number | undefined): number => Math.floor(epochMs ?? -1)

/**
 * Claims partitions (by topic/partition) for `owner`: from now on the watermarks of any other owner are refused. `highestMs` is the greatest
 * watermark that this indexer knows of; Redis may have lost it. Returns the greatest watermark that was ever published, and how far at most
 * `changedAt` of a record was ever raised above its append time, both in ms.
 */
export async function claimPartitions(
  redis: RedisConnection,
  keys: RedisKeys,
  owner: string,
  partitions: readonly string[],
  highestMs: number | undefined,
): Promise<{
  readonly watermarkMs: number | undefined
  readonly changedAtRaisedByMs: number
}> {
  const values = [owner, msOrNone(highestMs), ...partitions]
  const claimed = await run(redis, claimScript, [keys.watermark, keys.partitionOwners], values)
  const [highest, raised] = claimed as readonly [string | null, string | null]
  return { watermarkMs: highest === null ? undefined : Number(highest), changedAtRaisedByMs: Number(raised ?? 0) }
}

/** The claim that counts for a partition (topic/partition); undefined when Redis knows none, as after a loss of its data. */
export async function readClaimant(
  redis: RedisConnection,
  keys: RedisKeys,
  partition: string,
): Promise<string | undefined> {
  return (await redis.client.hget(keys.partitionOwners, partition)) ?? undefined
}

/** The greatest watermark (epoch ms) that was ever published; undefined when there was none. */
export async function readHighestWatermark(redis: RedisConnection, keys: RedisKeys): Promise<number | undefined> {
  const highest = await redis.client.hget(keys.watermark, 'highest')
  return highest === null ? undefined : Number(highest)
}

/** Stores how far (ms) `changedAt` of a record was raised above its append time; Redis keeps the greatest distance for good. */
export async function noteRaised(redis: RedisConnection, keys: RedisKeys, changedAtRaisedByMs: number): Promise<void> {
  await run(redis, noteRaisedScript, [keys.watermark], [Math.ceil(changedAtRaisedByMs)])
}

/** What the clock of Redis reads (epoch ms). */
export async function redisTimeMs(redis: RedisConnection): Promise<number> {
  const [seconds, microseconds] = await redis.client.time()
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
}

/** The generation whose watermarks count; undefined when Redis knows none. */
export async function readWatermarkGeneration(
  redis: RedisConnection,
  keys: RedisKeys,
): Promise<GenerationTag | undefined> {
  return ((await redis.client.hget(keys.watermark, 'generation')) ?? undefined) as GenerationTag | undefined
}

/** The watermark that API answers carry, and the watermark of every partition. */
export type PublishedWatermark = {
  readonly watermarkMs: number | undefined
  readonly partitionWatermarks: PartitionWatermarks
}

/** Reads the published watermark; undefined when an earlier run of Redis published it, which may have lost its last second. */
export async function readWatermark(redis: RedisConnection, keys: RedisKeys): Promise<PublishedWatermark> {
  const {
    published,
    run,
    generation: _generation,
    floor: _floor,
    highest: _highest,
    partitionsRun: _partitionsRun,
    raised: _raised,
    withheld: _withheld,
    ...partitions
  } = await redis.client.hgetall(keys.watermark)
  return {
    watermarkMs: published === undefined || run !== redis.runId() ? undefined : Number(published),
    partitionWatermarks: new Map(Object.entries(partitions).map(([name, epochMs]) => [name, Number(epochMs)])),
  }
}

/** Stops the watermark until the hold is released, for `maxMs` at most; false when another rebuild has the hold. */
export async function acquireWatermarkHold(
  redis: RedisConnection,
  keys: RedisKeys,
  holder: string,
  maxMs: number,
): Promise<boolean> {
  return (await redis.client.set(keys.watermarkHold, holder, 'PX', maxMs, 'NX')) === 'OK'
}

/** Extends the hold by another `maxMs`; false when it had expired. */
export async function extendWatermarkHold(
  redis: RedisConnection,
  keys: RedisKeys,
  holder: string,
  maxMs: number,
): Promise<boolean> {
  return (await run(redis, extendHoldScript, [keys.watermarkHold], [holder, maxMs])) === 1
}

/** Whether a rebuild has stopped the watermark, because it is about to switch. */
export async function isWatermarkHeld(redis: RedisConnection, keys: RedisKeys): Promise<boolean> {
  return (await redis.client.exists(keys.watermarkHold)) === 1
}

/** Releases the hold, so that the watermark goes on; false when it had expired. */
export async function releaseWatermarkHold(redis: RedisConnection, keys: RedisKeys, holder: string): Promise<boolean> {
  return (await run(redis, releaseHoldScript, [keys.watermarkHold], [holder])) === 1
}

/** Withdraws the watermark: without log-append time, producers set the append times, and no promise can rest on them. */
export async function withdrawWatermark(redis: RedisConnection, keys: RedisKeys): Promise<void> {
  await redis.client.hdel(keys.watermark, 'published')
}

function runOf(redis: RedisConnection): string {
  const runId = redis.runId()
  if (runId === undefined) throw new Error('Redis is not connected')
  return runId
}
