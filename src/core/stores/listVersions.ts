import { type Branded, type EntityType, entityTypes, randomToken, type TeamId, type TeamList } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import { type RedisConnection, script } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Changes with every change that readers of a list, or of one of its entities, could see. The API makes ETags of it. */
export type ListVersion = Branded<string, 'ListVersion'>

/** The versions of a team's lists, and the watermark, as the API answers with them. */
export type Freshness = {
  /** Everything appended to Kafka before this instant is searchable; null while no such promise can be made. */
  readonly watermark: Instant | null
  /** Null while it is not known which generation of indices serves. */
  readonly versions: Readonly<Record<EntityType, ListVersion | null>>
  /** Whether Elasticsearch shows just what the version stands for: no write is pending. */
  readonly settled: Readonly<Record<EntityType, boolean>>
}

/** Bounds one MSET: Redis serves no other client while it runs a command. */
const maxTokensPerCommand = 1_000

/** The names that `freshnessOf` reads, or that begin what it reads, and a token for a list that has none. */
export const freshnessValues = (keys: RedisKeys, newToken: string): string[] => [
  keys.watermark,
  keys.watermarkHold,
  keys.changeTokenPrefix,
  keys.pendingWritesPrefix,
  newToken,
]

/**
 * `freshnessValues` begin at ARGV[first]. All of it is read at one moment, so that no token is older than the watermark. A list without a token
 * is given one, if it is known which generation serves.
 */
export const freshnessLua = `
local function freshnessOf(team, first)
  local read = redis.call('HMGET', ARGV[first], 'published', 'run', 'generation')
  for _, type in ipairs({${entityTypes.map((type) => `'${type}'`).join(', ')}}) do
    local list = type .. '/' .. team
    local token = redis.call('GET', ARGV[first + 2] .. list)
    if read[3] and not token then
      token = ARGV[first + 4]
      redis.call('SET', ARGV[first + 2] .. list, token)
    end
    table.insert(read, token)
    table.insert(read, redis.call('EXISTS', ARGV[first + 1], ARGV[first + 3] .. list))
  end
  return read
end`

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

const readListsScript = script(`${freshnessLua}\nreturn freshnessOf(ARGV[1], 2)`)

/**
 * Reads the versions of a team's lists and the watermark, for an answer that is fetched after this. The indexer publishes the watermark
 * after the change tokens: who is told "not modified" holds everything that the watermark promises.
 *
 * A version names the run of Redis. A Redis that restarted may have lost its last second, a new token included, so versions of an earlier
 * run never match.
 */
export async function readListVersions(
  redis: RedisConnection,
  teamId: TeamId,
  newToken = randomToken,
): Promise<Freshness> {
  const read = await readListsScript(redis, [], [teamId, ...freshnessValues(redis.keys, newToken())])
  return freshnessIn(read as FreshnessReply, redis.runId())
}

/** The current versions of lists, in their order, in one round trip; null for one that is unknown. */
export async function readVersionsOf(
  { client, keys, runId }: RedisConnection,
  lists: readonly TeamList[],
): Promise<(ListVersion | null)[]> {
  const [[generation = null], tokens] = await Promise.all([
    client.hmget(keys.watermark, 'generation'),
    client.mget(lists.map((list) => keys.changeToken(list))),
  ])
  return tokens.map((token) => versionOf(runId(), generation, token))
}

/** The freshness that was read from the run `runId` of Redis. */
export const freshnessIn = (
  [published, run, generation, forms, formsUnsettled, submissions, submissionsUnsettled]: FreshnessReply,
  runId: string | undefined,
): Freshness => ({
  watermark: published === null || run !== runId ? null : toInstant(Number(published)),
  versions: {
    forms: versionOf(runId, generation, forms),
    submissions: versionOf(runId, generation, submissions),
  },
  settled: { forms: formsUnsettled === 0, submissions: submissionsUnsettled === 0 },
})

const versionOf = (runId: string | undefined, generation: string | null, token: string | null): ListVersion | null =>
  runId === undefined || generation === null || token === null
    ? null
    : (`${runId} ${generation} ${token}` as ListVersion)

/** Gives each list a new version. Tokens are random: a Redis that lost its last second would count to one number twice. */
export async function replaceChangeTokens(
  { client, keys }: RedisConnection,
  lists: readonly TeamList[],
  newToken = randomToken,
): Promise<void> {
  for (let at = 0; at < lists.length; at += maxTokensPerCommand) {
    const batch = lists.slice(at, at + maxTokensPerCommand)
    await client.mset(batch.flatMap((list) => [keys.changeToken(list), newToken()]))
  }
}
