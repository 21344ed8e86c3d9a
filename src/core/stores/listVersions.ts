import type { Branded, TeamId } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import { type EntityType, entityTypes, type TeamList, teamList } from '../model/teamList.ts'
import { type RedisConnection, run } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'
import { readListsScript } from './redisScripts.ts'

/** Changes with every change that readers of a list, or of one of its entities, could see. The API makes ETags of it. */
export type ListVersion = Branded<string, 'ListVersion'>

/** The versions of a team's lists, and the watermark, as the API answers with them. */
export type Freshness = {
  /** Everything appended to Kafka before this instant is searchable; null while no such promise can be made. */
  readonly watermark: Instant | null
  /** Null while it is not known which generation of indices serves. */
  readonly versions: Readonly<Record<EntityType, ListVersion | null>>
  /**
   * Whether Elasticsearch shows just what the version stands for: no write of the list may have become visible before its token is
   * replaced.
   */
  readonly settled: Readonly<Record<EntityType, boolean>>
}

/** Bounds one MSET: Redis serves no other client while it runs a command. */
const maxTokensPerCommand = 1_000

/** The names that `freshnessOf` reads, or that begin what it reads. */
export const freshnessNames = (keys: RedisKeys): string[] => [
  keys.watermark,
  keys.watermarkHold,
  keys.changeTokenPrefix,
  keys.pendingWritesPrefix,
]

/** What `freshnessOf` returns: of the watermark, then for each list its token and how many keys say that it is not settled. */
export type FreshnessReply = readonly [
  published: string | null,
  run: string | null,
  generation: string | null,
  formsToken: string | null,
  formsUnsettled: number,
  submissionsToken: string | null,
  submissionsUnsettled: number,
]

/**
 * Reads the versions of a team's lists and the watermark, for an answer that is fetched after this. All are read at one moment, and
 * the indexer publishes the watermark after the change tokens: a client that is told "not modified" therefore holds everything that
 * the watermark promises. A list without a token is given one, which the indexer's next refresh replaces.
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
  const read = async () => (await run(redis, readListsScript, [], [teamId, ...freshnessNames(keys)])) as FreshnessReply
  const known = await read()
  if (!lacksToken(known)) return freshnessIn(known, redis.runId())
  await createTokens(redis, keys, teamId, newToken)
  return freshnessIn(await read(), redis.runId())
}

/** The current versions of lists, in their order, in one round trip; null for one that is unknown. */
export async function readVersionsOf(
  redis: RedisConnection,
  keys: RedisKeys,
  lists: readonly TeamList[],
): Promise<(ListVersion | null)[]> {
  const { client } = redis
  const [[generation = null], tokens] = await Promise.all([
    client.hmget(keys.watermark, 'generation'),
    client.mget(lists.map((list) => keys.changeToken(list))),
  ])
  const runId = redis.runId()
  return tokens.map((token) => versionOf(runId, generation, token))
}

/** Whether a list has no token though it is known which generation serves. */
export const lacksToken = ([, , generation, forms, , submissions]: FreshnessReply): boolean =>
  generation !== null && (forms === null || submissions === null)

/** The freshness that was read from the run `runId` of Redis. */
export function freshnessIn(
  [published, run, generation, forms, formsUnsettled, submissions, submissionsUnsettled]: FreshnessReply,
  runId: string | undefined,
): Freshness {
  return {
    watermark: published === null || run !== runId ? null : toInstant(Number(published)),
    versions: {
      forms: versionOf(runId, generation, forms),
      submissions: versionOf(runId, generation, submissions),
    },
    settled: { forms: formsUnsettled === 0, submissions: submissionsUnsettled === 0 },
  }
}

const versionOf = (runId: string | undefined, generation: string | null, token: string | null): ListVersion | null =>
  runId === undefined || generation === null || token === null
    ? null
    : (`${runId} ${generation} ${token}` as ListVersion)

/** Creates the tokens that are missing; one that another process created meanwhile stays. */
async function createTokens(
  { client }: RedisConnection,
  keys: RedisKeys,
  teamId: TeamId,
  newToken: () => string,
): Promise<void> {
  await Promise.all(entityTypes.map((type) => client.set(keys.changeToken(teamList(type, teamId)), newToken(), 'NX')))
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
