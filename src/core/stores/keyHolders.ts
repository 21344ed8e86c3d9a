import type { Digest } from '../model/ids.ts'
import type { KeyHolder } from './accountKeyStore.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** The holders of several keys in the order of `digests`, null for a key that nobody holds, or that several claim; undefined while the account-key store is not complete. */
export async function readHolders(
  { client, runId }: RedisConnection,
  keys: RedisKeys,
  digests: readonly Digest[],
): Promise<(KeyHolder | null)[] | undefined> {
  // All are sent together. The store was complete when the holders were read if it is afterwards: what Redis forgets takes this name, too.
  const [holders, complete] = await Promise.all([
    Promise.all(digests.map((digest) => client.hvals(keys.accountKey(digest)))),
    client.get(keys.accountKeysComplete),
  ])
  if (complete == null || complete !== runId()) return undefined
  return holders.map(([holder, ...others]) =>
    holder === undefined || others.length > 0 ? null : (JSON.parse(holder) as KeyHolder),
  )
}
