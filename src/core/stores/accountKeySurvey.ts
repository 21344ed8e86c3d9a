import type { AccountKeyState } from '../model/accountKey.ts'
import type { Digest, EntityId, TeamId } from '../model/ids.ts'
import { type KeyHolder, readField } from './accountKeyStore.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

const namesAtOnce = 500

/** Everything that the account-key store holds, deleted keys included, without slots that are only reserved. */
export type AccountKeySurvey = {
  readonly keys: readonly { readonly teamId: TeamId; readonly keyId: EntityId; readonly state: AccountKeyState }[]
  /** Which live keys claim each digest. A look-up finds a single one. */
  readonly claims: ReadonlyMap<Digest, readonly KeyHolder[]>
}

/** Reads the whole account-key store, page by page, without changing anything. What is written meanwhile may be in it or not. */
export async function surveyAccountKeys({ client }: RedisConnection, names: RedisKeys): Promise<AccountKeySurvey> {
  const keys: AccountKeySurvey['keys'][number][] = []
  for await (const [name, hash] of hashesWith(client, names.teamKeysPrefix))
    for (const [keyId, field] of Object.entries(hash)) {
      const state = readField(field)
      const teamId = name.slice(names.teamKeysPrefix.length) as TeamId
      if (state !== undefined) keys.push({ teamId, keyId: keyId as EntityId, state })
    }
  const claims = new Map<Digest, KeyHolder[]>()
  for await (const [name, hash] of hashesWith(client, names.accountKeyPrefix)) {
    const holders = Object.values(hash).map((text) => JSON.parse(text) as KeyHolder)
    claims.set(name.slice(names.accountKeyPrefix.length) as Digest, holders)
  }
  return { keys, claims }
}

async function* hashesWith(
  client: RedisConnection['client'],
  prefix: string,
): AsyncGenerator<readonly [name: string, hash: Record<string, string>]> {
  // A prefix of index names has none of the characters that a pattern knows.
  for (let cursor = '0'; ; ) {
    const [next, page] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', namesAtOnce)
    const hashes = await Promise.all(page.map((name) => client.hgetall(name)))
    for (const [at, hash] of hashes.entries()) yield [page[at] ?? '', hash]
    if (next === '0') return
    cursor = next
  }
}
