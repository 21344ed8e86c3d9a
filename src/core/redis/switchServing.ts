import { type GenerationTag, type Indices, kindsOf } from '../elasticsearch/indices.ts'
import { type EntityType, entityTypes, randomToken } from '../model/ids.ts'
import { type RedisConnection, script } from './redis.ts'
import {
  type CursorKey,
  type PublishedPartition,
  publishedLifeMs,
  raiseLua,
  updateWatermarkLua,
} from './visiblePositions.ts'

/**
 * The switch of a rebuild, in one script:
 * 1. Raises the visible positions and times of the next generation to those that the rebuild has reached.
 * 2. Returns `behind` if a position of the next generation is lower than in the serving one: clients of a change feed may have read further. No indexer raises
 *   the serving one's positions while the rebuild owns the lock.
 * 3. Raises the times of the next generation to those of the serving one. If everything appended before 12:00 is below offset 70 there, it is also searchable
 *   in the next one, which by step 2 shows everything below 70.
 * 4. Makes the next generation serve, and deletes the lock.
 * If the reply is lost and the script runs again, it returns `switched` again.
 * KEYS: the serving generation's tag, the lock, the next generation's positions of forms and of submissions.
 * ARGV 1 to 4: id of the rebuild, tag of the next and of the serving generation, new salt. 5 to 9 of forms, 10 to 14 of submissions: name of the serving
 * generation's positions (empty if not to be compared), cursor key, list index, detail index, number of partitions. 15: `1` if deletions may be missing. From
 * 16 on, for each partition: 1 (forms) or 2 (submissions), partition, position, time.
 */
const switchScript = script(`${raiseLua}${updateWatermarkLua}
if redis.call('GET', KEYS[1]) == ARGV[2] then return {'switched'} end
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {'lock lost'} end
local serving = redis.call('GET', KEYS[1])
if serving and serving ~= ARGV[3] then return {'another serves', serving} end
for at = 16, #ARGV, 4 do
  local key, partition = KEYS[2 + tonumber(ARGV[at])], ARGV[at + 1]
  raise(key, partition, ARGV[at + 2])
  raise(key, partition .. '@', ARGV[at + 3])
end
for i = 1, 2 do
  local old = ARGV[5 * i] == '' and {} or redis.call('HGETALL', ARGV[5 * i])
  for at = 1, #old, 2 do
    local reached = tonumber(redis.call('HGET', KEYS[2 + i], old[at]) or '-1')
    if string.match(old[at], '^%d+$') and reached < tonumber(old[at + 1]) then return {'behind', i, old[at]} end
  end
  for at = 1, #old, 2 do
    if string.match(old[at], '^%d+@$') then raise(KEYS[2 + i], old[at], old[at + 1]) end
  end
end
for i = 1, 2 do
  local key, at = KEYS[2 + i], 1 + 5 * i
  redis.call('HSET', key, 'cursorKey', ARGV[at], 'index', ARGV[at + 1], 'details', ARGV[at + 2], 'salt', ARGV[4])
  raise(key, 'partitions', ARGV[at + 3])
  if ARGV[15] == '1' then redis.call('HSET', key, 'withheld', '1') else redis.call('HDEL', key, 'withheld') end
  updateWatermark(key)
  redis.call('PEXPIRE', key, ${publishedLifeMs})
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('DEL', KEYS[2])
return {'switched'}`)

export type ReachedPartition = Omit<PublishedPartition, 'from'>

export type RequestedSwitch = {
  /** The id of the rebuild, which must own the lock. */
  readonly holder: string
  /** The serving generation. */
  readonly from: GenerationTag
  readonly to: { readonly tag: GenerationTag; readonly indices: Indices }
  readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
  /** Every partition of both topics. */
  readonly reached: readonly ReachedPartition[]
  /** Types whose topics were replaced after `from` was filled: offsets of two logs cannot be compared. */
  readonly replaced: ReadonlySet<EntityType>
  /** Kafka may have removed a deletion before the rebuild read it. */
  readonly mayLackDeletions: boolean
}

/**
 * Unless `switched`, nothing has changed for readers, and the lock stays. `another serves`: neither `from` nor `to`. `behind`: `to` has not reached the visible
 * position of `from` in this partition.
 */
export type SwitchResult =
  | { readonly kind: 'switched' }
  | { readonly kind: 'lock lost' }
  | { readonly kind: 'another serves'; readonly serving: GenerationTag }
  | { readonly kind: 'behind'; readonly type: EntityType; readonly partition: number }

export async function switchServing(
  redis: RedisConnection,
  { holder, from, to, cursorKeys, reached, replaced, mayLackDeletions }: RequestedSwitch,
  newToken = randomToken,
): Promise<SwitchResult> {
  const { keys } = redis
  const names = [keys.serving, keys.switchLock, ...entityTypes.map((type) => keys.visiblePositions(type, to.tag))]
  const perType = entityTypes.flatMap((type) => {
    const [list, details] = kindsOf[type]
    const comparedKey = replaced.has(type) ? '' : keys.visiblePositions(type, from)
    const count = reached.filter((partition) => partition.type === type).length
    return [comparedKey, cursorKeys[type], to.indices[list], to.indices[details], count]
  })
  const partitions = reached.flatMap(({ type, partition, to: position, timeMs }) => {
    return [entityTypes.indexOf(type) + 1, partition, String(position), Math.floor(timeMs)]
  })
  const values = [holder, to.tag, from, newToken(), ...perType, mayLackDeletions ? 1 : 0, ...partitions]
  const reply = await switchScript(redis, names, values)
  return resultIn(reply as SwitchReply)
}

type SwitchReply =
  | readonly ['switched' | 'lock lost']
  | readonly ['another serves', serving: string]
  // 1: forms, 2: submissions.
  | readonly ['behind', type: 1 | 2, partition: string]

function resultIn(reply: SwitchReply): SwitchResult {
  switch (reply[0]) {
    case 'switched':
    case 'lock lost':
      return { kind: reply[0] }
    case 'another serves':
      return { kind: 'another serves', serving: reply[1] as GenerationTag }
    case 'behind':
      return { kind: 'behind', type: reply[1] === 1 ? 'forms' : 'submissions', partition: Number(reply[2]) }
  }
}
