import type { TeamList } from '../model/teamList.ts'
import { type RedisConnection, run } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'
import { markScript, settleScript } from './redisScripts.ts'

/** That records of one partition may change what readers see of a list, before the list has a new version. */
export type PendingMark = {
  readonly list: TeamList
  /** The `partitionName` of the records. */
  readonly partition: string
  /** The claim of the indexer that writes them. */
  readonly owner: string
}

/** Bounds one script: Redis serves no other client while it runs one. */
const maxMarksPerScript = 1_000
/**
 * Whoever owns a partition next reads what its last owner left uncommitted, and settles that one's marks with its own. Only marks of
 * records that nobody can read any more, of a topic that was deleted and created again, are left; they must not stay for ever. Marks
 * that are needed for longer must be set again before this time is over.
 */
export const pendingMarkLifeMs = 3_600_000

/** Marks lists before writes to them can become visible: as long as a list has a mark, an answer of its version may be outdated. */
export async function markPending(
  redis: RedisConnection,
  keys: RedisKeys,
  marks: readonly PendingMark[],
): Promise<void> {
  const scripts = batchesOf(marks, keys).map(({ names, values }) =>
    run(redis, markScript, [...names, keys.partitionOwners], [...values, pendingMarkLifeMs]),
  )
  await Promise.all(scripts)
}

/** Removes marks, after their lists were given new change tokens. Marks of another owner stay. */
export async function settlePending(
  redis: RedisConnection,
  keys: RedisKeys,
  marks: readonly PendingMark[],
): Promise<void> {
  const scripts = batchesOf(marks, keys).map(({ names, values }) => run(redis, settleScript, names, values))
  await Promise.all(scripts)
}

/** For each script the names of the hashes, and a field and its value for each of them. */
function batchesOf(marks: readonly PendingMark[], keys: RedisKeys): { names: string[]; values: string[] }[] {
  const count = Math.ceil(marks.length / maxMarksPerScript)
  return Array.from({ length: count }, (_, at) => {
    const batch = marks.slice(at * maxMarksPerScript, (at + 1) * maxMarksPerScript)
    return {
      names: batch.map(({ list }) => keys.pendingWrites(list)),
      values: batch.flatMap(({ partition, owner }) => [partition, owner]),
    }
  })
}
