import type { Digest } from '../model/ids.ts'
import type { KeyHolder } from './accountKeyStore.ts'
import { type RedisConnection, run } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'
import { holdersScript } from './redisScripts.ts'

/** The holders of several keys in the order of `digests`, null for a key that nobody holds, or that several claim; undefined while the account-key store is not complete. */
export async function readHolders(
  redis: RedisConnection,
  keys: RedisKeys,
  digests: readonly Digest[],
): Promise<(KeyHolder | null)[] | undefined> {
  const names = [keys.accountKeysComplete, ...digests.map((digest) => keys.accountKey(digest))]
  const [complete, ...entries] = (await run(redis, holdersScript, [], names)) as string[]
  if (complete !== redis.runId()) return undefined
  return entries.map((entry) => (entry === '' ? null : (JSON.parse(entry) as KeyHolder)))
}
