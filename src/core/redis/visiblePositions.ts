import { randomBytes } from 'node:crypto'
import type { GenerationTag, Indices } from '../elasticsearch/indices.ts'
import { type Branded, type EntityType, entityTypes, randomToken, type TeamList } from '../model/ids.ts'
import { type RedisConnection, script } from './redis.ts'

/* In each round, an indexer publishes what is searchable now. */

/**
 * The AES-256 key (base64) that seals the cursors of a change feed; cursors with another key are refused. A rebuild copies it, unless followers may lack
 * deletions or a topic was replaced. Stored in `_meta` of the list index.
 */
export type CursorKey = Branded<string, 'CursorKey'>

export const newCursorKey = (): CursorKey => randomBytes(32).toString('base64') as CursorKey

/** Every record from offset `from` to below `to` is searchable in every copy of the index. */
export type PublishedPartition = {
  readonly type: EntityType
  readonly partition: number
  /** The position that this indexer published last; at first, the committed offset. */
  readonly from: bigint
  readonly to: bigint
  /** Everything appended before this time (epoch ms) is below `to`. 0: unknown, as without log-append times; a stored time is then removed. */
  readonly timeMs: number
}

export type PublishedRound = {
  readonly generation: GenerationTag
  readonly indices: Indices
  readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
  readonly partitionCounts: Readonly<Record<EntityType, number>>
  /** Lists with changes, at most `maxListsPerRound`, whose change tokens are replaced. */
  readonly lists: readonly TeamList[]
  /** Gives every list another version, because `lists` is incomplete. */
  readonly changesEveryList: boolean
  readonly partitions: readonly PublishedPartition[]
  /** A deletion may be missing. */
  readonly mayLackDeletions: boolean
}

/** More would block Redis for too long. If more lists changed, the versions of all change. */
export const maxListsPerRound = 5_000

/** The positions of a generation expire so long after its last round. */
export const publishedLifeMs = 7 * 86_400_000

/** Sets a field, unless its value is greater. Returns its former value, or -1. */
export const raiseLua = `
local function raise(key, field, value)
  local stored = tonumber(redis.call('HGET', key, field) or '-1')
  if stored < tonumber(value) then redis.call('HSET', key, field, value) end
  return stored
end`

/**
 * Stores the lowest time of a hash `visiblePositions` as its watermark, or removes it while a partition has no position or time, or deletions may be missing
 * (`withheld`). Returns the watermark, or nil, and whether every partition has a position.
 */
export const updateWatermarkLua = `
local function updateWatermark(key)
  local lowest, isComplete = nil, true
  local count = tonumber(redis.call('HGET', key, 'partitions') or '0')
  if count == 0 then isComplete = false end
  local hasTimes = isComplete and not redis.call('HGET', key, 'withheld')
  for partition = 0, count - 1 do
    local read = redis.call('HMGET', key, partition, partition .. '@')
    local timeMs = tonumber(read[2] or '0')
    if not read[1] then isComplete = false end
    if timeMs <= 0 then hasTimes = false end
    if not lowest or timeMs < lowest then lowest = timeMs end
  end
  if hasTimes and isComplete then
    local watermark = string.format('%.0f', lowest)
    redis.call('HSET', key, 'watermark', watermark)
    return watermark, isComplete
  end
  redis.call('HDEL', key, 'watermark')
  return nil, isComplete
end`

/**
 * Publishes a round in one step:
 * - Positions only rise. If a former owner of the partition publishes offset 60 after 70, 70 stays, which is still true.
 * - Tokens of changed lists are replaced in the same step. If earlier, a follower could read the new token with the old positions, and would get "nothing new"
 *   once the positions have moved. If later, a follower with the old token would get "nothing new" although the change is visible.
 * - If a stored position is missing or below `from`, Redis has lost a publication, perhaps with tokens of other lists. A new salt gives every list another
 *   version, so that no client gets 304 for a changed list. The first round with `mayLackDeletions` changes the salt, too: a follower would otherwise get
 *   "nothing new" for the version that it has, instead of 503.
 * - While a rebuild owns the lock of the switch, the serving generation publishes list versions, but no positions.
 * KEYS: the positions of forms and of submissions, then the change tokens of the changed lists.
 * ARGV 1 to 7: name of the lock, new token, new salt, `1` to change every list, name of the serving generation's tag, tag of this generation, `1` if deletions
 * may be missing. 8 to 11 of forms, 12 to 15 of submissions: list index, detail index, cursor key, number of partitions. From 16 on, for each partition: 1
 * (forms) or 2 (submissions), partition, `from`, `to`, time.
 */
const publishScript = script(`${raiseLua}${updateWatermarkLua}
local newToken, newSalt = ARGV[2], ARGV[3]
local function changeEveryList() for i = 1, 2 do redis.call('HSET', KEYS[i], 'salt', newSalt) end end
if ARGV[4] == '1' then changeEveryList() end
for i = 3, #KEYS do redis.call('SET', KEYS[i], newToken) end
local serving = redis.call('GET', ARGV[5]) or ''
if redis.call('EXISTS', ARGV[1]) == 1 and serving == ARGV[6] then return {'locked', serving} end
for i = 1, 2 do
  local at = 4 + 4 * i
  redis.call('HSET', KEYS[i], 'cursorKey', ARGV[at + 2])
  if tonumber(ARGV[at + 3]) > tonumber(redis.call('HGET', KEYS[i], 'partitions') or '0') then redis.call('HSET', KEYS[i], 'partitions', ARGV[at + 3]) end
  if ARGV[7] == '1' and not redis.call('HGET', KEYS[i], 'withheld') then
    redis.call('HSET', KEYS[i], 'withheld', '1')
    changeEveryList()
  end
end
for at = 16, #ARGV, 5 do
  local key, partition = KEYS[tonumber(ARGV[at])], ARGV[at + 1]
  if raise(key, partition, ARGV[at + 3]) < tonumber(ARGV[at + 2]) then changeEveryList() end
  if ARGV[at + 4] == '0' then redis.call('HDEL', key, partition .. '@') else raise(key, partition .. '@', ARGV[at + 4]) end
end
local watermarks, isComplete = {}, true
for i = 1, 2 do
  local watermark, hasPositions = updateWatermark(KEYS[i])
  watermarks[i] = watermark or ''
  isComplete = isComplete and hasPositions
  if hasPositions then redis.call('HSET', KEYS[i], 'index', ARGV[4 + 4 * i], 'details', ARGV[5 + 4 * i]) end
  redis.call('PEXPIRE', KEYS[i], ${publishedLifeMs})
end
return {isComplete and 'complete' or 'incomplete', serving, watermarks[1], watermarks[2]}`)

export type RoundReply = {
  /** `locked`: a rebuild is switching, so only list versions were published. `complete`: every partition has a position. */
  readonly outcome: 'locked' | 'incomplete' | 'complete'
  /** Undefined if no generation serves. */
  readonly serving: GenerationTag | undefined
  /** Undefined while unknown. */
  readonly watermarkMs: number | undefined
}

export async function publishVisiblePositions(
  redis: RedisConnection,
  round: PublishedRound,
  newToken = randomToken,
): Promise<RoundReply> {
  const { keys } = redis
  const names = [
    ...entityTypes.map((type) => keys.visiblePositions(type, round.generation)),
    ...round.lists.map((list) => keys.changeToken(list)),
  ]
  const perType = entityTypes.flatMap((type) => {
    const details = type === 'forms' ? round.indices['form-details'] : round.indices['submission-details']
    return [round.indices[type], details, round.cursorKeys[type], round.partitionCounts[type]]
  })
  const partitions = round.partitions.flatMap(({ type, partition, from, to, timeMs }) => {
    return [entityTypes.indexOf(type) + 1, partition, String(from), String(to), Math.floor(timeMs)]
  })
  const reply = await publishScript(redis, names, [
    keys.switchLock,
    newToken(),
    newToken(),
    round.changesEveryList ? 1 : 0,
    keys.serving,
    round.generation,
    round.mayLackDeletions ? 1 : 0,
    ...perType,
    ...partitions,
  ])
  const [outcome, serving, forms = '', submissions = ''] = reply as readonly [RoundReply['outcome'], ...string[]]
  const watermarkMs = forms === '' || submissions === '' ? undefined : Math.min(Number(forms), Number(submissions))
  return { outcome, serving: serving === '' ? undefined : (serving as GenerationTag), watermarkMs }
}

/** False if Redis has no positions of an entity type, or a round reported `mayLackDeletions`. */
export async function knowsDeletions({ client, keys }: RedisConnection, generation: GenerationTag): Promise<boolean> {
  const hashes = await Promise.all(
    entityTypes.map((type) => client.hmget(keys.visiblePositions(type, generation), 'partitions', 'withheld')),
  )
  return hashes.every(([partitions, withheld]) => partitions !== null && withheld === null)
}

/** Also the states of its logs. */
export async function forgetVisiblePositions(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
): Promise<void> {
  const positions = entityTypes.map((type) => keys.visiblePositions(type, generation))
  await client.del(...positions, keys.readLogs(generation))
}
