import type { Branded, TeamId } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import { type EntityType, entityTypes, type TeamList, teamList } from '../model/teamList.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Changes with every change that readers of a list, or of one of its entities, could see. The API makes ETags of it. */
export type ListVersion = Branded<string, 'ListVersion'>

/** The versions of a team's lists, and the watermark, as the API answers with them. */
export type Freshness = {
  /** Everything appended to Kafka before this instant is searchable; null while no such promise can be made. */
  readonly watermark: Instant | null
  /** Null while it is not known which generation of indices serves. */
  readonly versions: Readonly<Record<EntityType, ListVersion | null>>
  readonly settled: Readonly<Record<EntityType, boolean>>
}

/** Bounds one MSET: Redis serves no other client while it runs a command. */
const maxTokensPerCommand = 1_000

/**
 * Reads the versions of a team's lists and the watermark, for an answer that is fetched after this. The watermark is read before
 * the change tokens, because the indexer publishes it after the tokens: a client that is told "not modified" therefore holds
 * everything that the watermark promises. A list without a token is given one, which the indexer's next refresh replaces.
 *
 * A version names the run of Redis. A Redis that restarted may have lost its last second, including a new token, and its
 * watermark would go back; so versions of an earlier run never match.
 */
export async function readListVersions(
  redis: RedisConnection,
  keys: RedisKeys,
  teamId: TeamId,
  newToken: () => string,
): Promise<Freshness> {
  const { client } = redis
  const names = entityTypes.map((type) => keys.changeToken(teamList(type, teamId)))
  const [[published, run, generation], known] = await Promise.all([
    client.hmget(keys.watermark, 'published', 'run', 'generation'),
    client.mget(names),
  ])
  const current = redis.runId()
  const watermark = published == null || run !== current ? null : toInstant(Number(published))
  if (current === undefined || generation == null)
    return { watermark, versions: { forms: null, submissions: null }, settled: { forms: false, submissions: false } }
  const tokens = known.includes(null) ? await createTokens(redis, names, newToken) : known
  const [forms, submissions] = tokens.map((token) =>
    token === null ? null : (`${current} ${generation} ${token}` as ListVersion),
  )
  return {
    watermark,
    versions: { forms: forms ?? null, submissions: submissions ?? null },
    settled: { forms: true, submissions: true },
  }
}

/** Creates the tokens that are missing; one that another process created meanwhile stays. */
async function createTokens(
  { client }: RedisConnection,
  names: readonly string[],
  newToken: () => string,
): Promise<(string | null)[]> {
  await Promise.all(names.map((name) => client.set(name, newToken(), 'NX')))
  return await client.mget([...names])
}

/**
 * Gives each list a new change token, and so a new version: clients that hold an answer must fetch it again. Tokens are random
 * and not counted, because a Redis that lost its last second would count to the same number twice.
 */
export async function replaceChangeTokens(
  redis: RedisConnection,
  keys: RedisKeys,
  lists: readonly TeamList[],
  newToken: () => string,
): Promise<void> {
  for (let at = 0; at < lists.length; at += maxTokensPerCommand) {
    const batch = lists.slice(at, at + maxTokensPerCommand)
    await redis.client.mset(batch.flatMap((list) => [keys.changeToken(list), newToken()]))
  }
}
