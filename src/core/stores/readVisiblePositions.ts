import { type EntityType, entityTypes, randomToken, type TeamId } from '../model/ids.ts'
import type { GenerationTag, ListIndices } from './indices.ts'
import {
  type Freshness,
  type FreshnessReply,
  freshnessIn,
  freshnessLua,
  freshnessValues,
  type ListVersion,
} from './listVersions.ts'
import { type RedisConnection, script } from './redis.ts'
import { readServing } from './serving.ts'
import type { CursorKey } from './visiblePositions.ts'

/** When everything below the visible position of each partition was appended at the latest. */
export type VisibleTimes = {
  /** The lowest time (epoch ms), which answers carry; undefined while it is not known. */
  readonly watermarkMs: number | undefined
  /** By entity type and partition: everything appended before (epoch ms) is searchable. */
  timeMs(type: EntityType, partition: number): number | undefined
}

/** Reads the times of the serving generation. */
export async function readVisibleTimes(redis: RedisConnection): Promise<VisibleTimes> {
  const { client, keys } = redis
  const serving = await readServing(redis)
  const read = async (type: EntityType) =>
    serving === undefined ? {} : await client.hgetall(keys.visiblePositions(type, serving))
  const times = { forms: await read('forms'), submissions: await read('submissions') }
  const watermarks = entityTypes.map((type) => times[type]['watermark'])
  return {
    watermarkMs: watermarks.includes(undefined) ? undefined : Math.min(...watermarks.map(Number)),
    timeMs: (type, partition) => {
      const timeMs = Number(times[type][`${partition}@`] ?? 0)
      return timeMs === 0 ? undefined : timeMs
    },
  }
}

/** What was published of a generation: partition → every offset below is searchable. A partition that Redis does not know is left out. */
export async function readPublishedPositions(
  { client, keys }: RedisConnection,
  type: EntityType,
  generation: GenerationTag,
): Promise<ReadonlyMap<number, number>> {
  const fields = Object.entries(await client.hgetall(keys.visiblePositions(type, generation)))
  return new Map(fields.flatMap(([name, value]) => (/^\d+$/.test(name) ? [[Number(name), Number(value)]] : [])))
}

/** A partition's visible position: every offset below `position` is searchable; everything appended before `timeMs` is below it. */
export type VisiblePosition = { readonly position: number; readonly timeMs: number }

/** What one script reads for a page of a change feed, or a new cursor. All of it is true of the indices that it names. */
export type VisibleList = {
  readonly version: ListVersion
  /** The indices to search; never the aliases, which may point to another generation already. */
  readonly indices: ListIndices
  readonly cursorKey: CursorKey
  /** Of each partition of the topic, by number. */
  readonly partitions: readonly VisiblePosition[]
}

const readVisibleScript = script(`${freshnessLua}
local read = freshnessOf(ARGV[1], 4)
local positions = {}
if read[1] then positions = redis.call('HGETALL', ARGV[2] .. read[1]) end
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
  const freshness = freshnessIn(reply)
  const read = new Map(fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1] ?? ''] as const] : [])))
  return { freshness, visible: visibleIn(read, freshness.versions[type], freshness.indices[type]) }
}

function visibleIn(
  read: ReadonlyMap<string, string>,
  version: ListVersion | null,
  indices: ListIndices | undefined,
): VisibleList | undefined {
  const cursorKey = read.get('cursorKey')
  const count = Number(read.get('partitions') ?? 0)
  if (version === null || count === 0 || read.has('withheld')) return undefined
  if (indices === undefined || cursorKey === undefined) return undefined
  const partitions: VisiblePosition[] = []
  for (let partition = 0; partition < count; partition++) {
    const position = read.get(String(partition))
    if (position === undefined) return undefined
    partitions.push({ position: Number(position), timeMs: Number(read.get(`${partition}@`) ?? 0) })
  }
  return { version, indices, cursorKey: cursorKey as CursorKey, partitions }
}
