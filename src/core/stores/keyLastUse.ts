import type { EntityId, TeamId } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import type { RedisConnection } from './redis.ts'

/**
 * Key id → last use (epoch ms), at most a minute too early, of the keys of a team that were used; written by `lookupScript` of
 * `accountKeyStore.ts`. For display only, because Redis may lose it.
 */
export async function readLastUse(
  { client, keys }: RedisConnection,
  teamId: TeamId,
): Promise<ReadonlyMap<EntityId, Instant>> {
  const uses = Object.entries(await client.hgetall(keys.lastUse(teamId)))
  return new Map(uses.map(([keyId, epochMs]) => [keyId as EntityId, toInstant(Number(epochMs))]))
}
