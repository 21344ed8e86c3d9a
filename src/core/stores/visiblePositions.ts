import { randomBytes } from 'node:crypto'
import { type Branded, type EntityType, entityTypes, randomToken, type TeamId, type TeamList } from '../model/ids.ts'
import type { GenerationTag, Indices } from './indices.ts'
import {
  type Freshness,
  type FreshnessReply,
  freshnessIn,
  freshnessLua,
  freshnessValues,
  type ListVersion,
} from './listVersions.ts'
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
  /** Everything that was appended before this time (epoch ms) is below `to`; 0 if no such time is known. */
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
const lifeMs = 7 * 86_400_000

/** Lua `raise(key, field, value)`: sets a field of a hash to a greater number; returns what it was before, -1 without one. */
const raiseLua = `
local function raise(key, field, value)
  local stored = tonumber(redis.call('HGET', key, field) or '-1')
  if stored < tonumber(value) then redis.call('HSET', key, field, value) end
  return stored
end`

/**
 * Positions are raised, never lowered: a statement about a prefix of the log, once true, stays true, whoever makes it and however late. Tokens
 * are replaced in the same script: replaced before the positions, a follower that reads the new token with the old positions would never ask
 * again; replaced after them, it would be told "nothing new" for positions that hold a change.
 *
 * A position below `from`, or none, shows that Redis has lost a publication, and with it tokens of lists that are not named here: the new salt
 * changes the version of every list of the generation. So does the news that deletions may be missing: a follower that is told "nothing new" by
 * version alone must learn of it. While a rebuild holds the switch, the serving generation publishes nothing.
 */
const publishScript = script(`${raiseLua}
local now = {ARGV[2], ARGV[3]}
local function changeEveryList() for i = 1, 2 do redis.call('HSET', KEYS[i], 'salt', now[2]) end end
if ARGV[4] == '1' then changeEveryList() end
for i = 3, #KEYS do redis.call('SET', KEYS[i], now[1]) end
if redis.call('EXISTS', ARGV[1]) == 1 and redis.call('HGET', ARGV[5], 'generation') == ARGV[6] then return 'held' end
for i = 1, 2 do
  local at = 4 + 4 * i
  redis.call('HSET', KEYS[i], 'index', ARGV[at], 'details', ARGV[at + 1], 'cursorKey', ARGV[at + 2])
  if tonumber(ARGV[at + 3]) > tonumber(redis.call('HGET', KEYS[i], 'partitions') or '0') then redis.call('HSET', KEYS[i], 'partitions', ARGV[at + 3]) end
  if ARGV[7] == '1' and not redis.call('HGET', KEYS[i], 'withheld') then
    redis.call('HSET', KEYS[i], 'withheld', '1')
    changeEveryList()
  end
end
for at = 16, #ARGV, 5 do
  local key, partition = KEYS[tonumber(ARGV[at])], ARGV[at + 1]
  if raise(key, partition, ARGV[at + 3]) < tonumber(ARGV[at + 2]) then changeEveryList() end
  raise(key, partition .. '@', ARGV[at + 4])
end
for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], ${lifeMs}) end
return 'published'`)

/**
 * Publishes after a refresh what readers can see, and gives the changed lists another version. `held`: a rebuild is switching, and the positions
 * were not published; lists have another version all the same.
 */
export async function publishVisiblePositions(
  redis: RedisConnection,
  round: PublishedRound,
  newToken = randomToken,
): Promise<'published' | 'held'> {
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
  const result = await publishScript(redis, names, [
    ...[keys.watermarkHold, newToken(), newToken(), round.changesEveryList ? 1 : 0, keys.watermark],
    ...[round.generation, round.mayLackDeletions ? 1 : 0, ...perType, ...partitions],
  ])
  return result === 'held' ? 'held' : 'published'
}

/**
 * Raises the positions of `to`, which no reader reads yet, to those of the generation that it replaces, once it holds all that this one shows;
 * and to `reached`, which it has read itself. Publishes also how its cursors are sealed. Positions of `replaced` types are not raised to those of the
 * other generation: they are of other logs.
 */
const carryScript = script(`${raiseLua}
for i = 1, 2 do
  redis.call('HSET', KEYS[i], 'cursorKey', ARGV[i], 'salt', ARGV[3])
  redis.call('HDEL', KEYS[i], 'withheld')
  local old = ARGV[3 + i] == '' and {} or redis.call('HGETALL', ARGV[3 + i])
  for at = 1, #old, 2 do
    if string.match(old[at], '^%d+@?$') then raise(KEYS[i], old[at], old[at + 1]) end
  end
end
for at = 6, #ARGV, 4 do
  local key, partition = KEYS[tonumber(ARGV[at])], ARGV[at + 1]
  raise(key, partition, ARGV[at + 2])
  raise(key, partition .. '@', ARGV[at + 3])
end
return 1`)

/** A partition of which a generation shows everything below `to`, with everything that was appended before `timeMs`. */
export type ReachedPartition = Omit<PublishedPartition, 'from'>

export async function carryVisiblePositions(
  redis: RedisConnection,
  {
    from,
    to,
    cursorKeys,
    reached,
    replaced,
  }: {
    readonly from: GenerationTag
    readonly to: GenerationTag
    readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
    readonly reached: readonly ReachedPartition[]
    readonly replaced: ReadonlySet<EntityType>
  },
  newToken = randomToken,
): Promise<void> {
  const nameOf = (type: EntityType, generation: GenerationTag): string => redis.keys.visiblePositions(type, generation)
  const carried = entityTypes.map((type) => (replaced.has(type) ? '' : nameOf(type, from)))
  const names = entityTypes.map((type) => nameOf(type, to))
  const partitions = reached.flatMap(({ type, partition, to: position, timeMs }) => [
    ...[entityTypes.indexOf(type) + 1, partition, String(position), Math.floor(timeMs)],
  ])
  const values = [...entityTypes.map((type) => cursorKeys[type]), newToken(), ...carried, ...partitions]
  await carryScript(redis, names, values)
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

/** A partition's visible position: every offset below `position` is searchable; everything appended before `timeMs` is below it. */
export type VisiblePosition = { readonly position: number; readonly timeMs: number }

/** What one script reads for a page of a change feed, or a new cursor. All of it is true of the indices that it names. */
export type VisibleList = {
  readonly version: ListVersion
  /** The physical indices to search; never the aliases, which may point to another generation already. */
  readonly index: string
  readonly details: string
  readonly cursorKey: CursorKey
  /** Of each partition of the topic, by number. */
  readonly partitions: readonly VisiblePosition[]
}

const readVisibleScript = script(`${freshnessLua}
local read = freshnessOf(ARGV[1], 4)
local positions = {}
if read[3] then positions = redis.call('HGETALL', ARGV[2] .. read[3]) end
return {read, positions}`)

/**
 * Reads the version of a list, and what is visible of its topic, in one step; call it before the search. `visible` is undefined while that is
 * not known of every partition (unknown is not zero), and once deletions may be missing.
 */
export async function readVisibleList(
  redis: RedisConnection,
  type: EntityType,
  teamId: TeamId,
  newToken = randomToken,
): Promise<{ readonly freshness: Freshness; readonly visible: VisibleList | undefined }> {
  const { keys } = redis
  const names = [teamId, keys.visiblePositions(type, ''), type, ...freshnessValues(keys, newToken())]
  const [reply, fields] = (await readVisibleScript(redis, [], names)) as readonly [FreshnessReply, readonly string[]]
  const freshness = freshnessIn(reply, redis.runId())
  const read = new Map(fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1] ?? ''] as const] : [])))
  return { freshness, visible: visibleIn(read, freshness.versions[type]) }
}

function visibleIn(read: ReadonlyMap<string, string>, version: ListVersion | null): VisibleList | undefined {
  const [index, details, cursorKey] = [read.get('index'), read.get('details'), read.get('cursorKey')]
  const count = Number(read.get('partitions') ?? 0)
  if (version === null || count === 0 || read.has('withheld')) return undefined
  if (index === undefined || details === undefined || cursorKey === undefined) return undefined
  const partitions: VisiblePosition[] = []
  for (let partition = 0; partition < count; partition++) {
    const position = read.get(String(partition))
    if (position === undefined) return undefined
    partitions.push({ position: Number(position), timeMs: Number(read.get(`${partition}@`) ?? 0) })
  }
  return { version, index, details, cursorKey: cursorKey as CursorKey, partitions }
}
