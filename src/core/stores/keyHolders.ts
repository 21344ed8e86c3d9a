import type { Digest } from '../model/ids.ts'
import type { KeyHolder } from './accountKeyStore.ts'
import { type RedisConnection, runScript, script } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** A digest that two live keys claim has no holder. */
const holdersScript = script(`
local read = {redis.call('GET', ARGV[1]) or ''}
for i = 2, #ARGV do
  local holders = redis.call('HVALS', ARGV[i])
  read[i] = #holders == 1 and holders[1] or ''
end
return read`)

/** The holders of several keys in the order of `digests`, null for a key that nobody holds, or that several claim; undefined while the account-key store is not complete. */
export async function readHolders(
  { client, runId }: RedisConnection,
  keys: RedisKeys,
  digests: readonly Digest[],
): Promise<(KeyHolder | null)[] | undefined> {
  const names = [keys.accountKeysComplete, ...digests.map((digest) => keys.accountKey(digest))]
  const [complete, ...entries] = (await runScript(client, holdersScript, names)) as string[]
  if (complete !== runId()) return undefined
  return entries.map((entry) => (entry === '' ? null : (JSON.parse(entry) as KeyHolder)))
}
