import type { TeamList } from '../model/ids.ts'
import { type RedisConnection, script } from './redis.ts'

/** Says that writes of one partition may become visible in a list before the list has a new version. */
export type PendingMark = {
  readonly list: TeamList
  /** The `partitionName` of the records. */
  readonly partition: string
  /** The claim of the indexer that writes the records. */
  readonly owner: string
}

/** Bounds a script, because Redis blocks while it runs one. */
const maxMarksPerScript = 1_000
/**
 * Marks are usually removed: the next owner of a partition rereads uncommitted records, replaces the former owner's marks and removes
 * them. This expiry is for marks that nobody removes, as after a topic was deleted. A mark needed for longer must be renewed.
 */
export const pendingMarkLifeMs = 3_600_000

/**
 * A mark's value is `<owner> <expiry>` (epoch ms of Redis), because other marks extend the TTL of the whole hash. A former claimant of
 * the partition, which may still write, does not replace the mark of the current one.
 */
const markScript = script(`
local owners, lifeMs, time = KEYS[#KEYS], tonumber(ARGV[#ARGV]), redis.call('TIME')
local nowMs = time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, #KEYS - 1 do
  local marks = redis.call('HGETALL', KEYS[i])
  for at = 1, #marks, 2 do
    local untilMs = tonumber(string.match(marks[at + 1], '%d+$') or '')
    if untilMs and untilMs <= nowMs then redis.call('HDEL', KEYS[i], marks[at]) end
  end
  local partition, owner = ARGV[2 * i - 1], ARGV[2 * i]
  if redis.call('HGET', owners, partition) == owner or not redis.call('HGET', KEYS[i], partition) then
    redis.call('HSET', KEYS[i], partition, string.format('%s %.0f', owner, nowMs + lifeMs))
  end
  redis.call('PEXPIRE', KEYS[i], lifeMs)
end
return 1`)

const unmarkLua = `
for i, key in ipairs(KEYS) do
  local mark = redis.call('HGET', key, ARGV[2 * i - 1])
  if mark and string.match(mark, '^(.*) %d+$') == ARGV[2 * i] then redis.call('HDEL', key, ARGV[2 * i - 1]) end
end
return 1`

/** Marks lists before writes to them can become visible: while a list has a mark, cached answers of its version may be outdated. */
export async function markPending(redis: RedisConnection, marks: readonly PendingMark[]): Promise<void> {
  const { partitionOwners } = redis.keys
  await Promise.all(
    batchesOf(redis, marks).map(({ names, values }) =>
      markScript(redis, [...names, partitionOwners], [...values, pendingMarkLifeMs]),
    ),
  )
}

/**
 * Removes marks after their lists got new change tokens. Marks of other owners stay. Redis runs it before every command that is sent later: an
 * EVALSHA that Redis does not know would be repeated behind them, and remove the mark of a later write.
 */
export async function unmarkPending(redis: RedisConnection, marks: readonly PendingMark[]): Promise<void> {
  const batches = batchesOf(redis, marks)
  await Promise.all(batches.map(({ names, values }) => redis.client.eval(unmarkLua, names.length, ...names, ...values)))
}

/** Keys and arguments for each run of a script: a hash per mark, and its field and owner. */
function batchesOf({ keys }: RedisConnection, marks: readonly PendingMark[]) {
  return Array.from({ length: Math.ceil(marks.length / maxMarksPerScript) }, (_, at) => {
    const batch = marks.slice(at * maxMarksPerScript, (at + 1) * maxMarksPerScript)
    return {
      names: batch.map(({ list }) => keys.pendingWrites(list)),
      values: batch.flatMap(({ partition, owner }) => [partition, owner]),
    }
  })
}
