import type { Digest, EntityId, TeamId } from '../model/ids.ts'
import type { KeyHolder, StoredKey } from './accountKeyStore.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

const namesAtOnce = 500

/** Everything that the account-key store holds, without slots that are only reserved. */
export type AccountKeySurvey = {
  readonly keys: readonly { readonly teamId: TeamId; readonly keyId: EntityId; readonly stored: StoredKey }[]
  /** Whom a look-up by digest finds. */
  readonly holders: ReadonlyMap<Digest, KeyHolder>
}

type Entry = { readonly revision: number; readonly key: Omit<StoredKey, 'revision'> }

/** Reads the whole account-key store, page by page, without changing anything. What is written meanwhile may be in it or not. */
export async function surveyAccountKeys({ client }: RedisConnection, names: RedisKeys): Promise<AccountKeySurvey> {
  const keys: AccountKeySurvey['keys'][number][] = []
  for await (const page of namesWith(client, names.teamKeysPrefix)) {
    const hashes = await Promise.all(page.map((name) => client.hgetall(name)))
    hashes.forEach((hash, at) => {
      const teamId = page[at]?.slice(names.teamKeysPrefix.length) as TeamId
      for (const [keyId, text] of Object.entries(hash)) {
        const { revision, key } = JSON.parse(text) as Entry
        if (revision > 0) keys.push({ teamId, keyId: keyId as EntityId, stored: { ...key, revision } as StoredKey })
      }
    })
  }
  const holders = new Map<Digest, KeyHolder>()
  for await (const page of namesWith(client, names.accountKeyPrefix)) {
    const found = await client.mget(page)
    found.forEach((text, at) => {
      const digest = page[at]?.slice(names.accountKeyPrefix.length) as Digest
      if (text !== null) holders.set(digest, JSON.parse(text) as KeyHolder)
    })
  }
  return { keys, holders }
}

/** The ids of a team's deleted keys. */
export const readDeletedKeys = async (
  { client }: RedisConnection,
  names: RedisKeys,
  teamId: TeamId,
): Promise<ReadonlySet<EntityId>> => new Set((await client.smembers(names.deletedKeys(teamId))) as EntityId[])

async function* namesWith(client: RedisConnection['client'], prefix: string): AsyncGenerator<string[]> {
  // A prefix of index names has none of the characters that a pattern knows.
  for (let cursor = '0'; ; ) {
    const [next, page] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', namesAtOnce)
    if (page.length > 0) yield page
    if (next === '0') return
    cursor = next
  }
}
