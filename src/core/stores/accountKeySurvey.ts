import type { AccountKeyState } from '../model/accountKey.ts'
import type { Digest, EntityId, TeamId } from '../model/ids.ts'
import { readField } from './accountKeyStore.ts'
import type { KeyHolder } from './keyLookups.ts'
import type { RedisConnection } from './redis.ts'

const namesAtOnce = 500

/** All keys in the account-key store, deleted ones included, without reserved slots. */
export type AccountKeySurvey = Awaited<ReturnType<typeof surveyAccountKeys>>

/** Reads the whole account-key store in pages. Concurrent writes may be included or not. */
export async function surveyAccountKeys({ client, keys: names }: RedisConnection) {
  const keys: { readonly teamId: TeamId; readonly keyId: EntityId; readonly state: AccountKeyState }[] = []
  for await (const [teamId, hash] of hashesWith(client, names.teamKeys('')))
    for (const [keyId, field] of Object.entries(hash)) {
      const state = readField(field)
      if (state !== undefined) keys.push({ teamId: teamId as TeamId, keyId: keyId as EntityId, state })
    }
  // Digest → the live keys that share it; a look-up succeeds for one key only.
  const claims = new Map<Digest, readonly KeyHolder[]>()
  for await (const [digest, hash] of hashesWith(client, names.accountKey('')))
    claims.set(
      digest as Digest,
      Object.values(hash).map((text) => JSON.parse(text) as KeyHolder),
    )
  return { keys, claims }
}

/** The hashes whose names begin with `prefix`, as rest of the name → fields. `prefix` contains no glob characters. */
async function* hashesWith(
  client: RedisConnection['client'],
  prefix: string,
): AsyncGenerator<readonly [name: string, hash: Record<string, string>]> {
  for (let cursor: string | undefined = '0'; cursor !== undefined; ) {
    const [next, page]: [string, string[]] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', namesAtOnce)
    const hashes = await Promise.all(page.map((name) => client.hgetall(name)))
    for (const [at, hash] of hashes.entries()) yield [(page[at] ?? '').slice(prefix.length), hash]
    cursor = next === '0' ? undefined : next
  }
}
