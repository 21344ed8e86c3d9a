import type { Digest } from '../model/ids.ts'
import type { KeyHolder } from './accountKeyStore.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** The holders of several keys in the order of `digests`, null for a key that nobody holds; undefined while the account-key store is not complete. */
export async function readHolders(
  { client, runId }: RedisConnection,
  keys: RedisKeys,
  digests: readonly Digest[],
): Promise<(KeyHolder | null)[] | undefined> {
  const [complete, ...entries] = await client.mget(
    keys.accountKeysComplete,
    ...digests.map((digest) => keys.accountKey(digest)),
  )
  if (complete == null || complete !== runId()) return undefined
  return entries.map((entry) => (entry === null ? null : (JSON.parse(entry) as KeyHolder)))
}
