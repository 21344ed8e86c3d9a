import type { GenerationTag } from './indices.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** `<topic>/<partition>` → epoch ms before which everything appended to that partition is searchable. */
export type PartitionWatermarks = ReadonlyMap<string, number>

/**
 * What became of a round's marks. `incomplete`: a partition has no mark yet; `behind`: a generation that is built anew has not
 * reached the instant at which its building began; `held`: a rebuild is about to switch; `superseded`: another generation is
 * the one that promises; `forgotten`: Redis knows of none.
 */
export type Published =
  | { readonly kind: 'published'; readonly watermarkMs: number }
  | { readonly kind: 'incomplete' | 'behind' | 'held' | 'superseded' | 'forgotten' }

/** The lowest mark of all partitions, once each has one. Neither a partition's mark nor the published one ever goes back. */
const publishScript = `
if redis.call('EXISTS', KEYS[2]) == 1 then return 'held' end
local generation = redis.call('HGET', KEYS[1], 'generation')
if not generation then return 'forgotten' end
if generation ~= ARGV[1] then return 'superseded' end
local every = cjson.decode(ARGV[3])
for i = 4, #ARGV, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '-1')
  if tonumber(ARGV[i + 1]) > known then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
local lowest = nil
for _, name in ipairs(every) do
  local mark = tonumber(redis.call('HGET', KEYS[1], name) or '-1')
  if mark < 0 then return 'incomplete' end
  if lowest == nil or mark < lowest then lowest = mark end
end
if lowest == nil then return 'incomplete' end
if lowest < tonumber(redis.call('HGET', KEYS[1], 'floor') or '-1') then return 'behind' end
local published = math.max(lowest, tonumber(redis.call('HGET', KEYS[1], 'published') or '-1'))
redis.call('HDEL', KEYS[1], 'floor')
redis.call('HSET', KEYS[1], 'published', string.format('%.0f', published), 'run', ARGV[2])
return string.format('%.0f', published)`

/** Marks belong to one generation; what is published stays true across a switch, unless a floor says that it must not. */
const adoptScript = `
local kept = redis.call('HMGET', KEYS[1], 'generation', 'published', 'run', 'floor')
if kept[1] ~= ARGV[1] then
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'generation', ARGV[1])
  if kept[2] and kept[3] then redis.call('HSET', KEYS[1], 'published', kept[2], 'run', kept[3]) end
end
local floor = tonumber(ARGV[2])
if floor >= 0 then
  redis.call('HDEL', KEYS[1], 'published', 'run')
  redis.call('HSET', KEYS[1], 'floor', string.format('%.0f', math.max(floor, tonumber(kept[4] or '-1'))))
elseif kept[4] then
  redis.call('HSET', KEYS[1], 'floor', kept[4])
end
return 1`

const keepScript = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`

const releaseScript = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`

/**
 * Publishes the marks of the partitions this indexer owns, as true of one generation of indices. `everyPartition` names all
 * partitions of both topics: one that nobody owns holds the watermark back.
 */
export async function publishWatermark(
  redis: RedisConnection,
  keys: RedisKeys,
  round: {
    readonly generation: GenerationTag
    readonly everyPartition: readonly string[]
    readonly marks: PartitionWatermarks
  },
): Promise<Published> {
  const pairs = [...round.marks].flatMap(([partition, epochMs]) => [partition, Math.floor(epochMs)])
  const fixed = [round.generation, runOf(redis), JSON.stringify(round.everyPartition)]
  const said = String(await redis.client.eval(publishScript, 2, keys.watermark, keys.watermarkHold, ...fixed, ...pairs))
  switch (said) {
    case 'held':
    case 'forgotten':
    case 'superseded':
    case 'incomplete':
    case 'behind':
      return { kind: said }
    default:
      return { kind: 'published', watermarkMs: Number(said) }
  }
}

/**
 * Makes a generation the one whose marks count. With `floorMs` (epoch ms) the watermark is withdrawn until everything appended
 * before that instant is searchable: the generation does not hold yet what was promised of another.
 */
export async function adoptGeneration(
  redis: RedisConnection,
  keys: RedisKeys,
  generation: GenerationTag,
  floorMs: number | undefined,
): Promise<void> {
  await redis.client.eval(adoptScript, 1, keys.watermark, generation, Math.floor(floorMs ?? -1))
}

/** The generation whose marks count; undefined when Redis knows of none. */
export async function adoptedGeneration(redis: RedisConnection, keys: RedisKeys): Promise<GenerationTag | undefined> {
  return ((await redis.client.hget(keys.watermark, 'generation')) ?? undefined) as GenerationTag | undefined
}

/** The watermark as readers are told it, and the mark of every partition. */
export type PublishedWatermark = { readonly watermarkMs: number | undefined; readonly marks: PartitionWatermarks }

/** What is published just now; nothing of it when another run of Redis published it. */
export async function readWatermark(redis: RedisConnection, keys: RedisKeys): Promise<PublishedWatermark> {
  const {
    published,
    run,
    generation: _generation,
    floor: _floor,
    ...marks
  } = await redis.client.hgetall(keys.watermark)
  return {
    watermarkMs: published === undefined || run !== redis.runId() ? undefined : Number(published),
    marks: new Map(Object.entries(marks).map(([name, epochMs]) => [name, Number(epochMs)])),
  }
}

/** Keeps the watermark where it is until it is released, at most for `maxMs`; false when someone else holds it. */
export async function holdWatermark(
  redis: RedisConnection,
  keys: RedisKeys,
  holder: string,
  maxMs: number,
): Promise<boolean> {
  return (await redis.client.set(keys.watermarkHold, holder, 'PX', maxMs, 'NX')) === 'OK'
}

/** Holds it for another `maxMs`; false when the hold was over already. */
export async function keepHolding(
  redis: RedisConnection,
  keys: RedisKeys,
  holder: string,
  maxMs: number,
): Promise<boolean> {
  return (await redis.client.eval(keepScript, 1, keys.watermarkHold, holder, maxMs)) === 1
}

/** Whether a rebuild is about to switch. */
export async function isWatermarkHeld(redis: RedisConnection, keys: RedisKeys): Promise<boolean> {
  return (await redis.client.exists(keys.watermarkHold)) === 1
}

/** Lets the watermark go on; false when the hold was over already. */
export async function releaseWatermark(redis: RedisConnection, keys: RedisKeys, holder: string): Promise<boolean> {
  return (await redis.client.eval(releaseScript, 1, keys.watermarkHold, holder)) === 1
}

/** Withdraws the watermark: append times that producers set promise nothing. */
export async function withdrawWatermark(redis: RedisConnection, keys: RedisKeys): Promise<void> {
  await redis.client.hdel(keys.watermark, 'published')
}

function runOf(redis: RedisConnection): string {
  const run = redis.runId()
  if (run === undefined) throw new Error('Redis is not connected')
  return run
}
