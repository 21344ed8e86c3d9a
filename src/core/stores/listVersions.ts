import { type Branded, entityTypes, type TeamList } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import { type RedisConnection, script } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Changes with every visible change of a list or of an entity in it. ETags of the API are made from it. */
export type ListVersion = Branded<string, 'ListVersion'>

/** The watermark, and the versions of a team's lists. */
export type Freshness = Readonly<ReturnType<typeof freshnessIn>>

/** Arguments of `freshnessOf`: names and name prefixes to read, and a change token for lists without one. */
export const freshnessValues = (keys: RedisKeys, newToken: string): string[] => [
  keys.serving,
  keys.changeToken(''),
  newToken,
  ...entityTypes.map((type) => keys.visiblePositions(type, '')),
]

/** The number of `freshnessValues`. */
export const freshnessValueCount = 3 + entityTypes.length

/**
 * Lua `freshnessOf(team, first)`, with `freshnessValues` from ARGV[first] on; to be called before the answer is fetched. Reads atomically, so that
 * no change token is older than the watermark: a client that gets 304 holds everything that the watermark promises. Gives `newToken` to a list without one, if the serving generation is known.
 */
export const freshnessLua = `
local function freshnessOf(team, first)
  local generation = redis.call('GET', ARGV[first])
  local read = {generation}
  for _, type in ipairs({${entityTypes.map((type) => `'${type}'`).join(', ')}}) do
    local list = type .. '/' .. team
    local token = redis.call('GET', ARGV[first + 1] .. list)
    if generation and not token then
      token = ARGV[first + 2]
      redis.call('SET', ARGV[first + 1] .. list, token)
    end
    table.insert(read, token)
    local positions = generation and ARGV[first + (type == 'forms' and 3 or 4)] .. generation
    table.insert(read, positions and redis.call('HGET', positions, 'salt'))
    table.insert(read, positions and redis.call('HGET', positions, 'watermark'))
  end
  return read
end`

/** The result of `freshnessOf`. */
export type FreshnessReply = readonly [
  generation: string | null,
  formsToken: string | null,
  formsSalt: string | null,
  formsWatermark: string | null,
  submissionsToken: string | null,
  submissionsSalt: string | null,
  submissionsWatermark: string | null,
]

const readVersionsScript = script(`
local generation = redis.call('GET', ARGV[1])
local read = {generation}
for i = 2, 3 do table.insert(read, generation and redis.call('HGET', ARGV[i] .. generation, 'salt')) end
for i = 4, #ARGV do table.insert(read, redis.call('GET', ARGV[i])) end
return read`)

/** The versions of lists, in their order, in one round trip; null if unknown. */
export async function readVersionsOf(redis: RedisConnection, lists: readonly TeamList[]) {
  const { keys } = redis
  const prefixes = entityTypes.map((type) => keys.visiblePositions(type, ''))
  const names = [keys.serving, ...prefixes, ...lists.map((list) => keys.changeToken(list))]
  const read = (await readVersionsScript(redis, [], names)) as readonly (string | null)[]
  const [generation = null, formsSalt = null, submissionsSalt = null, ...tokens] = read
  return lists.map((list, at) =>
    versionOf(generation, list.startsWith('forms/') ? formsSalt : submissionsSalt, tokens[at] ?? null),
  )
}

/** Converts the reply of `freshnessOf`. */
export const freshnessIn = ([
  generation,
  formsToken,
  formsSalt,
  formsWatermark,
  submissionsToken,
  submissionsSalt,
  submissionsWatermark,
]: FreshnessReply) => ({
  /** Everything appended to Kafka before this instant is searchable; null while that is not known of every partition. */
  watermark: lowestOf(formsWatermark, submissionsWatermark),
  /** Null while the serving generation is unknown. */
  versions: {
    forms: versionOf(generation, formsSalt, formsToken),
    submissions: versionOf(generation, submissionsSalt, submissionsToken),
  },
})

const lowestOf = (forms: string | null, submissions: string | null): Instant | null =>
  forms === null || submissions === null ? null : toInstant(Math.min(Number(forms), Number(submissions)))

/** The salt changes the versions of all lists of a generation at once, after Redis has lost tokens (`visiblePositions.ts`). */
const versionOf = (generation: string | null, salt: string | null, token: string | null): ListVersion | null =>
  generation === null || salt === null || token === null ? null : (`${generation} ${salt} ${token}` as ListVersion)
