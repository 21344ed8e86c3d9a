import type { ListIndices } from '../elasticsearch/indices.ts'
import { type Branded, type EntityType, entityTypes, type TeamList } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import { type RedisConnection, script } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/*
 * The version of a list (a team's forms or submissions) has three parts:
 * - the tag of the serving generation
 * - its salt: a new one changes all versions, after Redis has lost tokens (visiblePositions.ts)
 * - the list's change token, which an indexer replaces once a change is searchable
 */

/** Changes with every visible change of a list or its entities. ETags are made from it. */
export type ListVersion = Branded<string, 'ListVersion'>

/** Read by one script, so that watermark and versions are true of `indices`. */
export type Freshness = {
  /** Null while a partition has no visible time, or if deletions may be missing. */
  readonly watermark: Instant | null
  /** Null for a list without `indices`. */
  readonly versions: Readonly<Record<EntityType, ListVersion | null>>
  /** Undefined while no generation serves, or a partition has no visible position. Then the API searches the read aliases, which a switch moves last. */
  readonly indices: Readonly<Record<EntityType, ListIndices | undefined>>
}

/** Arguments for `freshnessOf`. `tokenIfMissing` becomes the change token of a list that has none: it is new, or Redis has lost the token. */
export const freshnessValues = (keys: RedisKeys, tokenIfMissing: string): string[] => [
  keys.serving,
  keys.changeToken(''),
  tokenIfMissing,
  ...entityTypes.map((type) => keys.visiblePositions(type, '')),
]

export const freshnessValueCount = 3 + entityTypes.length

/**
 * With `freshnessValues` from ARGV[first] on, returns a `FreshnessReply`. Call it before the search: a version that is read later may name a change that the
 * search has not returned.
 * It reads tokens and watermark in one step. In two steps:
 * 1. The API reads the token.
 * 2. An indexer publishes a change, with a new token and a later watermark.
 * 3. The API reads this watermark, and answers 304 with it to a client that has the old token, as if the client had the change.
 */
export const freshnessLua = `
local function freshnessOf(team, first)
  local generation = redis.call('GET', ARGV[first])
  local reply = {generation}
  for _, type in ipairs({${entityTypes.map((type) => `'${type}'`).join(', ')}}) do
    local list = type .. '/' .. team
    local token = redis.call('GET', ARGV[first + 1] .. list)
    if generation and not token then
      token = ARGV[first + 2]
      redis.call('SET', ARGV[first + 1] .. list, token)
    end
    table.insert(reply, token)
    local positions = generation and ARGV[first + (type == 'forms' and 3 or 4)] .. generation
    local fields = positions and redis.call('HMGET', positions, 'salt', 'watermark', 'index', 'details') or {false, false, false, false}
    for i = 1, 4 do table.insert(reply, fields[i]) end
  end
  return reply
end`

type ListReply = readonly [
  token: string | null,
  salt: string | null,
  watermark: string | null,
  index: string | null,
  details: string | null,
]

export type FreshnessReply = readonly [generation: string | null, ...forms: ListReply, ...submissions: ListReply]

/**
 * ARGV: name of the serving generation's tag, prefixes of the positions of forms and of submissions, names of change tokens. Returns the tag, both salts (if
 * `index` names the searched index), and the tokens.
 */
const readVersionsScript = script(`
local generation = redis.call('GET', ARGV[1])
local reply = {generation}
for i = 2, 3 do
  local fields = generation and redis.call('HMGET', ARGV[i] .. generation, 'salt', 'index') or {false, false}
  table.insert(reply, fields[2] and fields[1])
end
for i = 4, #ARGV do table.insert(reply, redis.call('GET', ARGV[i])) end
return reply`)

/** In the same order; null for a list without a version. */
export async function readVersionsOf(
  redis: RedisConnection,
  lists: readonly TeamList[],
): Promise<(ListVersion | null)[]> {
  const { keys } = redis
  const prefixes = entityTypes.map((type) => keys.visiblePositions(type, ''))
  const names = [keys.serving, ...prefixes, ...lists.map((list) => keys.changeToken(list))]
  const reply = (await readVersionsScript(redis, [], names)) as readonly (string | null)[]
  const [generation = null, formsSalt = null, submissionsSalt = null, ...tokens] = reply
  return lists.map((list, at) =>
    versionOf(generation, list.startsWith('forms/') ? formsSalt : submissionsSalt, tokens[at] ?? null),
  )
}

const listReplyLength = 5

export function freshnessIn([generation, ...lists]: FreshnessReply): Freshness {
  const forms = lists.slice(0, listReplyLength) as unknown as ListReply
  const submissions = lists.slice(listReplyLength) as unknown as ListReply
  const [, , formsWatermark] = forms
  const [, , submissionsWatermark] = submissions
  return {
    watermark: lowestOf(formsWatermark, submissionsWatermark),
    versions: { forms: listVersionIn(generation, forms), submissions: listVersionIn(generation, submissions) },
    indices: { forms: indicesIn(forms), submissions: indicesIn(submissions) },
  }
}

const indicesIn = ([, , , index, details]: ListReply): ListIndices | undefined =>
  index === null || details === null ? undefined : { index, details }

/** A list that is searched by its alias has none: the alias may point to another generation. */
function listVersionIn(generation: string | null, reply: ListReply): ListVersion | null {
  const [token, salt] = reply
  return indicesIn(reply) === undefined ? null : versionOf(generation, salt, token)
}

const lowestOf = (forms: string | null, submissions: string | null): Instant | null =>
  forms === null || submissions === null ? null : toInstant(Math.min(Number(forms), Number(submissions)))

const versionOf = (generation: string | null, salt: string | null, token: string | null): ListVersion | null =>
  generation === null || salt === null || token === null ? null : (`${generation} ${salt} ${token}` as ListVersion)
