import type { Redis } from 'ioredis'
import { type Instant, toInstant } from '../domain/instant.ts'
import type { RedisKeys } from './redisKeys.ts'

/** `<topic>/<partition>` → epoch ms before which everything appended to that partition is searchable. */
export type PartitionMarks = ReadonlyMap<string, number>

/** The lowest mark of all partitions, once each has one. Neither a partition's mark nor the published one ever goes back. */
const publishScript = `
local every = cjson.decode(ARGV[1])
for i = 2, #ARGV, 2 do
  local known = tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '-1')
  if tonumber(ARGV[i + 1]) > known then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
local lowest = nil
for _, name in ipairs(every) do
  local mark = tonumber(redis.call('HGET', KEYS[1], name) or '-1')
  if mark < 0 then return false end
  if lowest == nil or mark < lowest then lowest = mark end
end
if lowest == nil then return false end
local published = tonumber(redis.call('HGET', KEYS[1], 'published') or '-1')
if lowest > published then redis.call('HSET', KEYS[1], 'published', string.format('%.0f', lowest)) end
return 1`

/**
 * Publishes the marks of the partitions this indexer owns. `everyPartition` names all partitions of both topics: one that
 * nobody owns holds the tidemark back.
 */
export async function publishTidemark(
  redis: Redis,
  keys: RedisKeys,
  everyPartition: readonly string[],
  marks: PartitionMarks,
): Promise<void> {
  const pairs = [...marks].flatMap(([partition, epochMs]) => [partition, Math.floor(epochMs)])
  await redis.eval(publishScript, 1, keys.tidemark, JSON.stringify(everyPartition), ...pairs)
}

/** Withdraws the tidemark: append times that producers set promise nothing. */
export async function withdrawTidemark(redis: Redis, keys: RedisKeys): Promise<void> {
  await redis.del(keys.tidemark)
}

/** Everything appended to Kafka before this instant is searchable; null when no such promise can be made. */
export async function readTidemark(redis: Redis, keys: RedisKeys): Promise<Instant | null> {
  const published = await redis.hget(keys.tidemark, 'published')
  return published === null ? null : toInstant(Number(published))
}
