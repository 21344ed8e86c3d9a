import type { Branded } from '../domain/identifiers.ts'
import { type Instant, toInstant } from '../domain/instant.ts'
import type { ChangedList } from './changeTokens.ts'
import type { RedisLink } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Another text after every change that readers of a list, or of one of its entities, could see. */
export type ListVersion = Branded<string, 'ListVersion'>

export type Freshness = {
  /** Everything appended to Kafka before this instant is searchable; null when no such promise can be made. */
  readonly tidemark: Instant | null
  /** Null while it is not known which indices serve. */
  readonly version: ListVersion | null
}

/**
 * How fresh an answer will be that is asked for after this. The tidemark is read before the token, as the indexer publishes it
 * after the token: so whoever is told "not changed" holds everything that the tidemark promises. A list without a token is given
 * one: whatever the indexer refreshes from now on replaces it.
 *
 * Both are true of one run of Redis. One that restarted may have lost its last second, a token's replacement with it, and the
 * tidemark would go back.
 */
export async function readFreshness(
  redis: RedisLink,
  keys: RedisKeys,
  list: ChangedList,
  newToken: () => string,
): Promise<Freshness> {
  const { client } = redis
  const [[published, run, generation], known] = await Promise.all([
    client.hmget(keys.tidemark, 'published', 'run', 'generation'),
    client.get(keys.changeToken(list)),
  ])
  const current = redis.runId()
  const tidemark = published == null || run !== current ? null : toInstant(Number(published))
  if (current === undefined || generation == null) return { tidemark, version: null }
  const token = known ?? (await giveToken(redis, keys, list, newToken()))
  return { tidemark, version: token === null ? null : (`${current} ${generation} ${token}` as ListVersion) }
}

async function giveToken(
  { client }: RedisLink,
  keys: RedisKeys,
  list: ChangedList,
  token: string,
): Promise<string | null> {
  await client.set(keys.changeToken(list), token, 'NX')
  return await client.get(keys.changeToken(list))
}
