import type { GenerationTag } from '../elasticsearch/indices.ts'
import { type RedisConnection, script } from './redis.ts'

const setServingScript = script(`
local serving = redis.call('GET', KEYS[1])
if ARGV[2] and serving and serving ~= ARGV[1] and serving ~= ARGV[2] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1`)

/** `expected`: the generation that the caller believes to serve ('' if none). If a third one serves, rejects and changes nothing. */
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

/** Under the lock, the serving generation publishes list versions, but no positions. False if another rebuild has the lock. */
export const acquireSwitchLock = async (redis: RedisConnection, rebuildId: string, maxMs: number): Promise<boolean> =>
  (await redis.client.set(redis.keys.switchLock, rebuildId, 'PX', maxMs, 'NX')) === 'OK'

/** If rebuild `ARGV[1]` still has the lock, it expires after `ARGV[2]` ms: 0 deletes it at once. */
const setLockLifeScript = script(
  `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`,
)

/** False if the lock had expired. */
export const extendSwitchLock = async (redis: RedisConnection, rebuildId: string, maxMs: number): Promise<boolean> =>
  (await setLockLifeScript(redis, [redis.keys.switchLock], [rebuildId, maxMs])) === 1

/** Whether a rebuild is about to switch. */
export const isSwitchLocked = async ({ client, keys }: RedisConnection): Promise<boolean> =>
  (await client.exists(keys.switchLock)) === 1

export const releaseSwitchLock = (redis: RedisConnection, rebuildId: string) => extendSwitchLock(redis, rebuildId, 0)
