import type { GenerationTag } from './indices.ts'
import { type RedisConnection, script } from './redis.ts'

/** `<topic>/<partition>` → epoch ms before which everything appended to that partition is searchable. */
export type PartitionWatermarks = ReadonlyMap<string, number>

/**
 * Why no watermark is published, in order: a partition has none yet; it is below the floor or an earlier published one; a rebuild holds
 * it; another indexer claimed a partition; the generation may lack a deletion; another generation counts; Redis knows no generation.
 */
const obstacles = ['incomplete', 'behind', 'held', 'displaced', 'withheld', 'superseded', 'forgotten'] as const

/**
 * The watermark is the lowest partition watermark, once every partition has one; neither ever goes back. A restarted Redis may have lost
 * writes: partition watermarks of its earlier run are dropped, and publishers send the highest watermark they know, as the published one
 * may be lost, too. Once one publisher withholds the watermark of a generation, nobody publishes it.
 */
const publishScript = script(`
local highest = tonumber(redis.call('HGET', KEYS[1], 'highest') or '-1')
if tonumber(ARGV[5]) > highest then
  highest = tonumber(ARGV[5])
  redis.call('HSET', KEYS[1], 'highest', ARGV[5])
end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'held' end
local generation = redis.call('HGET', KEYS[1], 'generation')
if not generation then return 'forgotten' end
if generation ~= ARGV[1] then return 'superseded' end
local every = cjson.decode(ARGV[4])
for i = 7, #ARGV, 2 do
  local owner = redis.call('HGET', KEYS[3], ARGV[i])
  if owner and owner ~= ARGV[3] then return 'displaced' end
end
if ARGV[6] == '1' then
  redis.call('HSET', KEYS[1], 'withheld', '1')
  redis.call('HDEL', KEYS[1], 'published')
end
if redis.call('HGET', KEYS[1], 'partitionsRun') ~= ARGV[2] then
  for _, name in ipairs(every) do redis.call('HDEL', KEYS[1], name) end
  redis.call('HSET', KEYS[1], 'partitionsRun', ARGV[2])
end
for i = 7, #ARGV, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '-1')
  if tonumber(ARGV[i + 1]) > known then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
local lowest = nil
for _, name in ipairs(every) do
  local watermark = tonumber(redis.call('HGET', KEYS[1], name) or '-1')
  if watermark < 0 then return 'incomplete' end
  if lowest == nil or watermark < lowest then lowest = watermark end
end
if lowest == nil then return 'incomplete' end
if lowest < tonumber(redis.call('HGET', KEYS[1], 'floor') or '-1') then return 'behind' end
local published = math.max(lowest, tonumber(redis.call('HGET', KEYS[1], 'published') or '-1'))
if published < highest then return 'behind' end
redis.call('HDEL', KEYS[1], 'floor')
if redis.call('HGET', KEYS[1], 'withheld') then return 'withheld' end
redis.call('HSET', KEYS[1], 'published', string.format('%.0f', published), 'run', ARGV[2], 'highest', string.format('%.0f', published))
return string.format('%.0f', published)`)

/** Publishes the watermarks of the partitions that this indexer owns. Resolves with the watermark (epoch ms), or why there is none. */
export async function publishWatermark(
  redis: RedisConnection,
  round: {
    readonly generation: GenerationTag
    /** The claim under which this indexer owns the partitions. */
    readonly owner: string
    /** All partitions of both topics: one that no indexer owns holds the watermark back, too. */
    readonly everyPartition: readonly string[]
    readonly partitionWatermarks: PartitionWatermarks
    /** The greatest watermark (epoch ms) that this indexer knows of. */
    readonly highestMs: number | undefined
    /** Whether to withhold the watermark of this generation for good. */
    readonly isWithheld: boolean
  },
): Promise<number | (typeof obstacles)[number]> {
  const { keys, runId } = redis
  const run = runId()
  if (run === undefined) throw new Error('Redis is not connected')
  const names = [keys.watermark, keys.watermarkHold, keys.partitionOwners]
  const result = await publishScript(redis, names, [
    ...[round.generation, run, round.owner, JSON.stringify(round.everyPartition)],
    ...[msOrNone(round.highestMs), round.isWithheld ? 1 : 0],
    ...[...round.partitionWatermarks].flatMap(([partition, epochMs]) => [partition, Math.floor(epochMs)]),
  ])
  return obstacles.find((obstacle) => obstacle === result) ?? Number(result)
}

/**
 * A new generation drops partition watermarks, but keeps the published watermark, unless a floor withdraws it. Changes nothing and
 * returns 0 if `ARGV[3]` is given and the present generation is neither `ARGV[1]` nor `ARGV[3]`.
 */
const setGenerationScript = script(`
local kept = redis.call('HMGET', KEYS[1], 'generation', 'published', 'run', 'floor', 'highest', 'raised')
if ARGV[3] and kept[1] and kept[1] ~= ARGV[1] and kept[1] ~= ARGV[3] then return 0 end
if kept[1] ~= ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'generation', ARGV[1])
  if kept[5] then redis.call('HSET', KEYS[1], 'highest', kept[5]) end
  if kept[6] then redis.call('HSET', KEYS[1], 'raised', kept[6]) end
  if kept[2] and kept[3] then redis.call('HSET', KEYS[1], 'published', kept[2], 'run', kept[3]) end
end
local floor = tonumber(ARGV[2])
if floor >= 0 then
  redis.call('HDEL', KEYS[1], 'published', 'run')
  redis.call('HSET', KEYS[1], 'floor', string.format('%.0f', math.max(floor, tonumber(kept[4] or '-1'))))
elseif kept[4] then
  redis.call('HSET', KEYS[1], 'floor', kept[4])
end
return 1`)

/**
 * Sets the generation whose watermarks count. `floorMs` (epoch ms): the generation may lack what was promised of another, so no watermark
 * is published below the floor. Rejects if the present generation is neither this one nor `instead` ('' for none), if given.
 */
export async function setWatermarkGeneration(
  redis: RedisConnection,
  generation: GenerationTag,
  floorMs?: number,
  instead?: GenerationTag | '',
): Promise<void> {
  const values = [generation, msOrNone(floorMs), ...(instead === undefined ? [] : [instead])]
  if ((await setGenerationScript(redis, [redis.keys.watermark], values)) === 0)
    throw new Error('another generation has been adopted meanwhile')
}

/** -1 stands for undefined, which Redis scripts lack. */
const msOrNone = (epochMs: number | undefined): number => Math.floor(epochMs ?? -1)

/**
 * Deletes the former owner's partition watermark: it may be above the published one, which another partition holds back, and must not
 * be published later.
 */
const claimScript = script(`
if tonumber(ARGV[2]) > tonumber(redis.call('HGET', KEYS[1], 'highest') or '-1') then redis.call('HSET', KEYS[1], 'highest', ARGV[2]) end
for i = 3, #ARGV do
  redis.call('HSET', KEYS[2], ARGV[i], ARGV[1])
  redis.call('HDEL', KEYS[1], ARGV[i])
end
return redis.call('HMGET', KEYS[1], 'highest', 'raised')`)

/** A claim of partitions, and what its owner is told of the promises that earlier indexers have made to readers. */
export type PartitionClaim = Awaited<ReturnType<typeof claimPartitions>>

/**
 * Claims partitions (topic/partition) for `owner`, so that watermarks of any other owner are refused. `highestMs` (epoch ms): the highest
 * watermark that this indexer knows.
 */
export async function claimPartitions(
  redis: RedisConnection,
  owner: string,
  partitions: readonly string[],
  highestMs: number | undefined,
) {
  const { keys } = redis
  const values = [owner, msOrNone(highestMs), ...partitions]
  const claimed = await claimScript(redis, [keys.watermark, keys.partitionOwners], values)
  const [highest, raised] = claimed as readonly [string | null, string | null]
  return {
    owner,
    /** The highest watermark (epoch ms) that was ever published; undefined when there was none. */
    watermarkMs: highest === null ? undefined : Number(highest),
    /** How far at most (ms) `changedAt` of a record was ever raised above its append time. */
    changedAtRaisedByMs: Number(raised ?? 0),
  }
}

/** The claim that counts for a partition (by topic/partition); null where Redis knows none, as after a loss of its data. */
export const readClaimant = ({ client, keys }: RedisConnection, partition: string): Promise<string | null> =>
  client.hget(keys.partitionOwners, partition)

const noteRaisedScript = script(`
if tonumber(ARGV[1]) > tonumber(redis.call('HGET', KEYS[1], 'raised') or '0') then redis.call('HSET', KEYS[1], 'raised', ARGV[1]) end
return 1`)

/** Stores by how much (ms) `changedAt` of a record was raised above its append time; Redis keeps the maximum for good. */
export async function noteRaised(redis: RedisConnection, changedAtRaisedByMs: number): Promise<void> {
  await noteRaisedScript(redis, [redis.keys.watermark], [Math.ceil(changedAtRaisedByMs)])
}

export async function redisTimeMs({ client }: RedisConnection): Promise<number> {
  const [seconds, microseconds] = await client.time()
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
}

/** Reads all that Redis holds of the watermark; times are epoch ms. */
export async function readWatermark({ client, keys, runId }: RedisConnection) {
  const { generation, published, run, highest, ...others } = await client.hgetall(keys.watermark)
  const partitions = Object.entries(others).filter(([name]) => name.includes('/'))
  return {
    /** The generation whose watermarks count; undefined if none is set. */
    generation: generation as GenerationTag | undefined,
    /** That API answers carry; undefined if an earlier run of Redis published it, because a restart may lose the last second of writes. */
    watermarkMs: published === undefined || run !== runId() ? undefined : Number(published),
    /** The highest ever published. */
    highestMs: highest === undefined ? undefined : Number(highest),
    partitionWatermarks: new Map(partitions.map(([name, epochMs]) => [name, Number(epochMs)])),
  }
}

/** Withdraws the watermark, for topics without log-append time: producers set their timestamps, which prove nothing. */
export async function withdrawWatermark({ client, keys }: RedisConnection): Promise<void> {
  await client.hdel(keys.watermark, 'published')
}

/** Stops the watermark until `releaseWatermarkHold`, for `maxMs` at most; false when another rebuild has the hold. */
export const acquireWatermarkHold = async (redis: RedisConnection, holder: string, maxMs: number): Promise<boolean> =>
  (await redis.client.set(redis.keys.watermarkHold, holder, 'PX', maxMs, 'NX')) === 'OK'

/** A life of 0 ms deletes the hold. */
const setHoldLifeScript = script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`,
)

/** Extends the hold by another `maxMs`; false when the hold had expired. */
export const extendWatermarkHold = async (redis: RedisConnection, holder: string, maxMs: number): Promise<boolean> =>
  (await setHoldLifeScript(redis, [redis.keys.watermarkHold], [holder, maxMs])) === 1

/** Whether a rebuild that is about to switch has stopped the watermark. */
export const isWatermarkHeld = async ({ client, keys }: RedisConnection): Promise<boolean> =>
  (await client.exists(keys.watermarkHold)) === 1

/** Releases the hold, so that the watermark advances again; false when the hold had expired. */
export const releaseWatermarkHold = (redis: RedisConnection, holder: string) => extendWatermarkHold(redis, holder, 0)
