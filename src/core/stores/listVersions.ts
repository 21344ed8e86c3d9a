import type { Branded, TeamId } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import { type EntityType, entityTypes, teamList } from '../model/teamList.ts'
import type { RedisLink } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Another text after every change that readers of a list, or of one of its entities, could see. */
export type ListVersion = Branded<string, 'ListVersion'>

export type Freshness = {
  /** Everything appended to Kafka before this instant is searchable; null when no such promise can be made. */
  readonly watermark: Instant | null
  /** Of the team's lists; null while it is not known which indices serve. */
  readonly versions: Readonly<Record<EntityType, ListVersion | null>>
}

/**
 * How fresh an answer to a team will be that is asked for after this. The watermark is read before the tokens, as the indexer
 * publishes it after the tokens: so whoever is told "not changed" holds everything that the watermark promises. A list without a
 * token is given one: whatever the indexer refreshes from now on replaces it.
 *
 * All of it is true of one run of Redis. One that restarted may have lost its last second, a token's replacement with it, and
 * the watermark would go back.
 */
export async function readFreshness(
  redis: RedisLink,
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
  if (current === undefined || generation == null) return { watermark, versions: { forms: null, submissions: null } }
  const tokens = known.includes(null) ? await giveTokens(redis, names, newToken) : known
  const [forms, submissions] = tokens.map((token) =>
    token === null ? null : (`${current} ${generation} ${token}` as ListVersion),
  )
  return { watermark, versions: { forms: forms ?? null, submissions: submissions ?? null } }
}

async function giveTokens(
  { client }: RedisLink,
  names: readonly string[],
  newToken: () => string,
): Promise<(string | null)[]> {
  await Promise.all(names.map((name) => client.set(name, newToken(), 'NX')))
  return await client.mget([...names])
}
