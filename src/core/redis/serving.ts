import type { GenerationTag } from '../elasticsearch/indices.ts'
import { type RedisConnection, script } from './redis.ts'

/** With `ARGV[2]`, returns 0 and changes nothing if a generation other than `ARGV[1]` and `ARGV[2]` serves. */
const setServingScript = script(`
local serving = redis.call('GET', KEYS[1])
if ARGV[2] and serving and serving ~= ARGV[1] and serving ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

/** Requests then read indices, positions and versions of `generation`. With `expected` (the former generation; '': none), rejects if a third one serves. */
export async function setServing(
  redis: RedisConnection,
  generation: GenerationTag,
  expected?: GenerationTag | '',
): Promise<void> {
  const values = [generation, ...(expected === undefined ? [] : [expected])]
  if ((await setServingScript(redis, [redis.keys.serving], values)) === 0)
    throw new Error('another generation has been adopted meanwhile')
}

/** Undefined if no generation serves, as after a flush of Redis. */
export const readServing = async ({ client, keys }: RedisConnection): Promise<GenerationTag | undefined> =>
  ((await client.get(keys.serving)) as GenerationTag | null) ?? undefined

export async function redisTimeMs({ client }: RedisConnection): Promise<number> {
  const [seconds, microseconds] = await client.time()
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000)
}

/** False if another rebuild has the lock. */
export const acquireSwitchLock = async (redis: RedisConnection, rebuildId: string, maxMs: number): Promise<boolean> =>
  (await redis.client.set(redis.keys.switchLock, rebuildId, 'PX', maxMs, 'NX')) === 'OK'

/** A life of 0 ms deletes the lock. */
const setLockLifeScript = script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`,
)

/** False if the lock had expired. */
export const extendSwitchLock = async (redis: RedisConnection, rebuildId: string, maxMs: number): Promise<boolean> =>
  (await setLockLifeScript(redis, [redis.keys.switchLock], [rebuildId, maxMs])) === 1

/** Whether a rebuild is about to switch. Meanwhile the serving generation publishes list versions, but no positions. */
export const isSwitchLocked = async ({ client, keys }: RedisConnection): Promise<boolean> =>
  (await client.exists(keys.switchLock)) === 1

export const releaseSwitchLock = (redis: RedisConnection, rebuildId: string) => extendSwitchLock(redis, rebuildId, 0)
