import type { EntityId, TeamId } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import type { RedisConnection } from './redis.ts'

const minuteMs = 60_000
const lifeSeconds = 90 * 86_400

/** The first millisecond of the minute that a time is in. */
export const minuteOf = (epochMs: number): number => Math.floor(epochMs / minuteMs) * minuteMs

/** Stores the minute in which a key was used. Redis may lose it: it is only shown to people. */
export async function recordKeyUse(
  { client, keys }: RedisConnection,
  teamId: TeamId,
  keyId: EntityId,
  nowMs: number,
): Promise<void> {
  const name = keys.lastUse(teamId)
  await client.pipeline().hset(name, keyId, minuteOf(nowMs)).expire(name, lifeSeconds).exec()
}

/** When each key of a team was last used, to the minute; without keys that were not used. */
export async function readLastUse(
  { client, keys }: RedisConnection,
  teamId: TeamId,
): Promise<ReadonlyMap<EntityId, Instant>> {
  const uses = Object.entries(await client.hgetall(keys.lastUse(teamId)))
  return new Map(uses.map(([keyId, epochMs]) => [keyId as EntityId, toInstant(Number(epochMs))]))
}
