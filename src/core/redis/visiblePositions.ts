import { randomBytes } from 'node:crypto'
import type { GenerationTag, Indices } from '../elasticsearch/indices.ts'
import { type Branded, type EntityType, entityTypes, randomToken, type TeamList } from '../model/ids.ts'
import { type RedisConnection, script } from './redis.ts'

/**
 * The AES-256 key (base64) that seals the cursors of a change feed. It lies in the `_meta` of the list index; a rebuild carries it on, unless
 * deletions may be missing in the new generation. So a cursor that another key has sealed may lack deletions.
 */
export type CursorKey = Branded<string, 'CursorKey'>

export const newCursorKey = (): CursorKey => randomBytes(32).toString('base64') as CursorKey

/** What is published of one partition after a refresh: every record from offset `from` to below `to` is searchable in every copy. */
export type PublishedPartition = {
  readonly type: EntityType
  readonly partition: number
  /** What this owner has published last; of a new owner, the offset that was committed. */
  readonly from: bigint
  readonly to: bigint
  /**
   * Everything that was appended before this time (epoch ms) is below `to`. 0 if no such time is known, as once brokers stamp no append times: then
   * an earlier one is withdrawn, too, and there is no watermark.
   */
  readonly timeMs: number
}

/** One round of publishing. */
export type PublishedRound = {
  readonly generation: GenerationTag
  readonly indices: Indices
  readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
  /** How many partitions the topic of each entity type has. */
  readonly partitionCounts: Readonly<Record<EntityType, number>>
  /** Lists that changed in these partitions, at most `maxListsPerRound`. */
  readonly lists: readonly TeamList[]
  /** Gives every list of the generation another version, for lists that are not named. */
  readonly changesEveryList: boolean
  readonly partitions: readonly PublishedPartition[]
  /** The generation may lack a deletion: no feed of it is served any more. */
  readonly mayLackDeletions: boolean
}

/** With more lists, all of the generation get another version: Redis blocks while it runs a script. */
export const maxListsPerRound = 5_000

/** A generation that nobody writes any more is forgotten after this time. */
export const publishedLifeMs = 7 * 86_400_000

/** Lua `raise(key, field, value)`: sets a field of a hash to a greater number; returns what it was before, -1 without one. */
export const raiseLua = `
local function raise(key, field, value)
  local stored = tonumber(redis.call('HGET', key, field) or '-1')
  if stored < tonumber(value) then redis.call('HSET', key, field, value) end
  return stored
end`

/**
 * Lua `noteWatermark(key)`: stores the lowest time of the partitions of a hash, once the time of each is known, and deletions are not missing.
 * Returns it, and whether all positions are known.
 */
export const noteWatermarkLua = `
local function noteWatermark(key)
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
 * Positions are raised, never lowered: a statement about a prefix of the log, once true, stays true, whoever makes it and however late. Tokens
 * are replaced in the same script: replaced before the positions, a follower that reads the new token with the old positions would never ask
 * again; replaced after them, it would be told "nothing new" for positions that hold a change.
 *
 * A position below `from`, or none, shows that Redis has lost a publication, and with it tokens of lists that are not named here: the new salt
 * changes the version of every list of the generation. So does the news that deletions may be missing: a follower that is told "nothing new" by
 * version alone must learn of it. While a rebuild has the lock of the switch, the serving generation publishes nothing.
 *
 * The indices of a list are named once the positions of all partitions of its topic are known: from then on requests search them. An index that is
 * still being built is not searched.
 */
const publishScript = script(`${raiseLua}${noteWatermarkLua}
local now = {ARGV[2], ARGV[3]}
local function changeEveryList() for i = 1, 2 do redis.call('HSET', KEYS[i], 'salt', now[2]) end end
if ARGV[4] == '1' then changeEveryList() end
for i = 3, #KEYS do redis.call('SET', KEYS[i], now[1]) end
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
  local watermark, isWhole = noteWatermark(KEYS[i])
  watermarks[i] = watermark or ''
  isComplete = isComplete and isWhole
  if isWhole then redis.call('HSET', KEYS[i], 'index', ARGV[4 + 4 * i], 'details', ARGV[5 + 4 * i]) end
  redis.call('PEXPIRE', KEYS[i], ${publishedLifeMs})
end
return {isComplete and 'complete' or 'incomplete', serving, watermarks[1], watermarks[2]}`)

/** What came of a round of publishing. */
export type RoundPublished = {
  /**
   * `locked`: a rebuild is switching, and positions were not published; lists have other versions all the same. `complete`: the positions of every
   * partition are known.
   */
  readonly outcome: 'locked' | 'incomplete' | 'complete'
  /** The generation that requests read; undefined if Redis knows none. */
  readonly serving: GenerationTag | undefined
  /** Everything that was appended before (epoch ms) is searchable; undefined while that is not known. */
  readonly watermarkMs: number | undefined
}

/** Publishes after a refresh what readers can see, and gives the changed lists another version. */
export async function publishVisiblePositions(
  redis: RedisConnection,
  round: PublishedRound,
  newToken = randomToken,
): Promise<RoundPublished> {
  const { keys } = redis
  const names = [
    ...entityTypes.map((type) => keys.visiblePositions(type, round.generation)),
    ...round.lists.map((list) => keys.changeToken(list)),
  ]
  const perType = entityTypes.flatMap((type) => {
    const details = type === 'forms' ? round.indices['form-details'] : round.indices['submission-details']
    return [round.indices[type], details, round.cursorKeys[type], round.partitionCounts[type]]
  })
  const partitions = round.partitions.flatMap(({ type, partition, from, to, timeMs }) => [
    ...[entityTypes.indexOf(type) + 1, partition, String(from), String(to), Math.floor(timeMs)],
  ])
  const reply = await publishScript(redis, names, [
    ...[keys.switchLock, newToken(), newToken(), round.changesEveryList ? 1 : 0, keys.serving],
    ...[round.generation, round.mayLackDeletions ? 1 : 0, ...perType, ...partitions],
  ])
  const [outcome, serving, forms = '', submissions = ''] = reply as readonly [RoundPublished['outcome'], ...string[]]
  const watermarkMs = forms === '' || submissions === '' ? undefined : Math.min(Number(forms), Number(submissions))
  return { outcome, serving: serving === '' ? undefined : (serving as GenerationTag), watermarkMs }
}

/** Whether a generation has published what it shows, and never that it may lack deletions. */
export async function knowsDeletions({ client, keys }: RedisConnection, generation: GenerationTag): Promise<boolean> {
  const read = entityTypes.map((type) =>
    client.hmget(keys.visiblePositions(type, generation), 'partitions', 'withheld'),
  )
  return (await Promise.all(read)).every(([partitions, withheld]) => partitions !== null && withheld === null)
}

/** Forgets what was published, and what was read, of a generation that is removed. */
export async function forgetVisiblePositions(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
): Promise<void> {
  const positions = entityTypes.map((type) => keys.visiblePositions(type, generation))
  await client.del(...positions, keys.readLogs(generation))
}
