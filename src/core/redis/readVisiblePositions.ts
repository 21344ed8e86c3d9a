import type { GenerationTag, ListIndices } from '../elasticsearch/indices.ts'
import { type EntityType, entityTypes, randomToken, type TeamId } from '../model/ids.ts'
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

export type VisibleTimes = {
  /** The lowest time (epoch ms); undefined while a partition has none, or deletions may be missing. */
  readonly watermarkMs: number | undefined
  /** Everything that was appended to the partition before this time (epoch ms) is searchable; undefined if unknown. */
  timeMs(type: EntityType, partition: number): number | undefined
}

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

/** Every record below offset `position` is searchable. Everything appended before `timeMs` (epoch ms; 0 if unknown) is below it. */
export type VisiblePosition = { readonly position: number; readonly timeMs: number }

/** By partition, without those that have no position. */
export async function readPublishedPositions(
  { client, keys }: RedisConnection,
  type: EntityType,
  generation: GenerationTag,
): Promise<ReadonlyMap<number, VisiblePosition>> {
  const fields = await client.hgetall(keys.visiblePositions(type, generation))
  const partitions = Object.keys(fields).filter((name) => /^\d+$/.test(name))
  return new Map(partitions.map((name) => [Number(name), positionIn(name, (field) => fields[field])]))
}

const positionIn = (partition: number | string, readField: (field: string) => string | undefined): VisiblePosition => ({
  position: Number(readField(String(partition))),
  timeMs: Number(readField(`${partition}@`) ?? 0),
})

/** Read in one script: version and positions are true of these indices. */
export type VisibleList = {
  readonly version: ListVersion
  /** Physical names: the aliases may point to another generation. */
  readonly indices: ListIndices
  readonly cursorKey: CursorKey
  /** In the order of the topic's partitions. */
  readonly partitions: readonly VisiblePosition[]
}

/** ARGV: team, prefix of positions, from 3 on `freshnessValues`. Returns a `FreshnessReply`, and the fields of the serving generation's positions. */
const readVisibleScript = script(`${freshnessLua}
local freshness = freshnessOf(ARGV[1], 3)
local generation, positions = freshness[1], {}
if generation then positions = redis.call('HGETALL', ARGV[2] .. generation) end
return {freshness, positions}`)

/**
 * Call this before the search, which then finds everything below the positions. `visible` is undefined if no generation serves, a partition has no position
 * (which is not position 0), or deletions may be missing.
 */
export async function readVisibleList(
  redis: RedisConnection,
  type: EntityType,
  teamId: TeamId,
  newToken = randomToken,
): Promise<{ readonly freshness: Freshness; readonly visible: VisibleList | undefined }> {
  const { keys } = redis
  const scriptValues = [teamId, keys.visiblePositions(type, ''), ...freshnessValues(keys, newToken())]
  const [reply, fields] = (await readVisibleScript(redis, [], scriptValues)) as readonly [
    FreshnessReply,
    readonly string[],
  ]
  const freshness = freshnessIn(reply)
  // HGETALL returns name, value, name, value, …
  const values = new Map(fields.flatMap((name, at) => (at % 2 === 0 ? [[name, fields[at + 1] ?? ''] as const] : [])))
  return { freshness, visible: visibleIn(values, freshness.versions[type], freshness.indices[type]) }
}

function visibleIn(
  values: ReadonlyMap<string, string>,
  version: ListVersion | null,
  indices: ListIndices | undefined,
): VisibleList | undefined {
  const cursorKey = values.get('cursorKey')
  const count = Number(values.get('partitions') ?? 0)
  if (version === null || count === 0 || values.has('withheld')) return undefined
  if (indices === undefined || cursorKey === undefined) return undefined
  const partitions: VisiblePosition[] = []
  for (let partition = 0; partition < count; partition++) {
    if (!values.has(String(partition))) return undefined
    const position = positionIn(partition, (field) => values.get(field))
    partitions.push(position)
  }
  return { version, indices, cursorKey: cursorKey as CursorKey, partitions }
}
