import { type GenerationTag, type Indices, kindsOf } from '../elasticsearch/indices.ts'
import { type EntityType, entityTypes, randomToken } from '../model/ids.ts'
import { type RedisConnection, script } from './redis.ts'
import {
  type CursorKey,
  noteWatermarkLua,
  type PublishedPartition,
  publishedLifeMs,
  raiseLua,
} from './visiblePositions.ts'

/**
 * The switch. Positions of the next generation are raised to those that the rebuild has reached, then compared with those of the serving one. While
 * the lock lives, `publishScript` refuses these, so nothing can be published between the comparison and `SET`. Times are raised to those of the
 * serving generation: what was appended before such a time lies below its position, and so below the one of the next generation.
 *
 * It answers that it has switched also when it runs again: the reply to the first run may be lost.
 */
const switchScript = script(`${raiseLua}${noteWatermarkLua}
if redis.call('GET', KEYS[1]) == ARGV[2] then return {'switched'} end
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {'lock lost'} end
local serving = redis.call('GET', KEYS[1])
if serving and serving ~= ARGV[3] then return {'another serves', serving} end
for at = 15, #ARGV, 4 do
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
  redis.call('HDEL', key, 'withheld')
  noteWatermark(key)
  redis.call('PEXPIRE', key, ${publishedLifeMs})
end
redis.call('SET', KEYS[1], ARGV[2])
redis.call('DEL', KEYS[2])
return {'switched'}`)

/** A partition of which a generation shows everything below `to`, with everything that was appended before `timeMs`. */
export type ReachedPartition = Omit<PublishedPartition, 'from'>

/** What a rebuild asks for when it switches. */
export type AskedSwitch = {
  /** Who has the lock of the switch. */
  readonly holder: string
  /** The generation that the next one was compared with. */
  readonly from: GenerationTag
  readonly to: { readonly tag: GenerationTag; readonly indices: Indices }
  readonly cursorKeys: Readonly<Record<EntityType, CursorKey>>
  /** Every partition of both topics. */
  readonly reached: readonly ReachedPartition[]
  /** The entity types whose topics are other logs than `from` was read from: their positions are not compared. */
  readonly replaced: ReadonlySet<EntityType>
}

/** What came of it. Unless it has switched, nothing has changed for readers. */
export type SwitchResult =
  | { readonly kind: 'switched' }
  | { readonly kind: 'lock lost' }
  | { readonly kind: 'another serves'; readonly serving: GenerationTag }
  | { readonly kind: 'behind'; readonly type: EntityType; readonly partition: number }

/** Makes requests read the next generation, in one step, and releases the lock; or says why not. */
export async function switchServing(
  redis: RedisConnection,
  { holder, from, to, cursorKeys, reached, replaced }: AskedSwitch,
  newToken = randomToken,
): Promise<SwitchResult> {
  const { keys } = redis
  const names = [keys.serving, keys.switchLock, ...entityTypes.map((type) => keys.visiblePositions(type, to.tag))]
  const perType = entityTypes.flatMap((type) => {
    const [list, details] = kindsOf[type]
    const compared = replaced.has(type) ? '' : keys.visiblePositions(type, from)
    const count = reached.filter((each) => each.type === type).length
    return [compared, cursorKeys[type], to.indices[list], to.indices[details], count]
  })
  const partitions = reached.flatMap(({ type, partition, to: position, timeMs }) => [
    ...[entityTypes.indexOf(type) + 1, partition, String(position), Math.floor(timeMs)],
  ])
  const reply = await switchScript(redis, names, [holder, to.tag, from, newToken(), ...perType, ...partitions])
  const [kind, named, partition] = reply as readonly [SwitchResult['kind'], string | number, string]
  if (kind === 'another serves') return { kind, serving: named as GenerationTag }
  if (kind !== 'behind') return { kind }
  return { kind, type: entityTypes[Number(named) - 1] ?? 'forms', partition: Number(partition) }
}
