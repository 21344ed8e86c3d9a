import type { Digest } from '../model/ids.ts'
import type { KeyHolder } from './accountKeyStore.ts'
import { type RedisConnection, runScript, script } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

<<<<<<< HEAD
/** The holders of several keys in the order of `digests`, null for a key that nobody holds, or that several claim; undefined while the account-key store is not complete. */
=======
/** A digest that two live keys claim has no holder. */
const holdersScript = script(`
local read = {redis.call('GET', ARGV[1]) or ''}
for i = 2, #ARGV do
  local holders = redis.call('HVALS', ARGV[i])
  read[i] = #holders == 1 and holders[1] or ''
end
return read`)

/** The holders of several keys in the order of `digests`, null for a key that nobody holds; undefined while the account-key store is not complete. */
>>>>>>> api
export async function readHolders(
  { client, runId }: RedisConnection,
  keys: RedisKeys,
  digests: readonly Digest[],
): Promise<(KeyHolder | null)[] | undefined> {
<<<<<<< HEAD
  // All are sent together. The store was complete when the holders were read if it is afterwards: what Redis forgets takes this name, too.
  const [holders, complete] = await Promise.all([
    Promise.all(digests.map((digest) => client.hvals(keys.accountKey(digest)))),
    client.get(keys.accountKeysComplete),
  ])
  if (complete == null || complete !== runId()) return undefined
  return holders.map(([holder, ...others]) =>
    holder === undefined || others.length > 0 ? null : (JSON.parse(holder) as KeyHolder),
  )
=======
  const names = [keys.accountKeysComplete, ...digests.map((digest) => keys.accountKey(digest))]
  const [complete, ...entries] = (await runScript(client, holdersScript, names)) as string[]
  if (complete !== runId()) return undefined
  return entries.map((entry) => (entry === '' ? null : (JSON.parse(entry) as KeyHolder)))
>>>>>>> api
}
