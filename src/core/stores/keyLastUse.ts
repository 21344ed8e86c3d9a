import type { EntityId, TeamId } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import type { RedisConnection } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

const minuteMs = 60_000
/** After it, nobody asks any more when a key was used. */
const lifeSeconds = 90 * 86_400

/** The minute of a moment, as its first millisecond. */
export const minuteOf = (epochMs: number): number => Math.floor(epochMs / minuteMs) * minuteMs

/** Writes down the minute in which a key was used. It may vanish with Redis: nothing but a person's judgement rests on it. */
export async function recordKeyUse(
  { client }: RedisConnection,
  keys: RedisKeys,
  teamId: TeamId,
  keyId: EntityId,
  nowMs: number,
): Promise<void> {
  const name = keys.lastUse(teamId)
  await client.pipeline().hset(name, keyId, minuteOf(nowMs)).expire(name, lifeSeconds).exec()
}

/** When a team's keys were last used, to the minute; without keys of which no use is known. */
export async function readLastUse(
  { client }: RedisConnection,
  keys: RedisKeys,
  teamId: TeamId,
): Promise<ReadonlyMap<EntityId, Instant>> {
  const uses = Object.entries(await client.hgetall(keys.lastUse(teamId)))
  return new Map(uses.map(([keyId, epochMs]) => [keyId as EntityId, toInstant(Number(epochMs))]))
}
