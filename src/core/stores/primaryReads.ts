import { type RedisConnection, script } from './redis.ts'

/** The primary of a shard: `id` is its allocation id, new for each copy; `index` the one behind the alias. */
export type Primary = { readonly index: string; readonly shard: number; readonly id: string }

/** The primary from which a shard is read, and since when it has replaced another one that was read (epoch ms); 0 if it has not. */
export type PrimaryRead = { readonly id: string; readonly sinceMs: number }

/** For indices that were removed. Each process renews it at its first read. */
const lifeSeconds = 365 * 86_400

const recordScript = script(`
local known = redis.call('HMGET', KEYS[1], ARGV[1])[1] or ARGV[2]
local id, sinceMs = string.match(known, '^(%S+) (%d+)$')
if id ~= ARGV[3] then sinceMs = id and ARGV[4] or '0' end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. ' ' .. sinceMs)
redis.call('EXPIRE', KEYS[1], ${lifeSeconds})
return sinceMs`)

/**
 * Records that a primary is read from now on; call it before the first read. Every process learns in this way that another one had been
 * read before, even one that has just started. `before`: what the caller has read last, in case Redis has lost it.
 */
export async function recordPrimary(
  redis: RedisConnection,
  { index, shard, id }: Primary,
  before: PrimaryRead | undefined,
  nowMs: number,
): Promise<PrimaryRead> {
  const known = before === undefined ? '' : `${before.id} ${before.sinceMs}`
  const sinceMs = await recordScript(redis, [redis.keys.primaryReads(index)], [shard, known, id, nowMs])
  return { id, sinceMs: Number(sinceMs) }
}
