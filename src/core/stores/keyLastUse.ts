import type { EntityId, TeamId } from '../model/ids.ts'
import { type Instant, toInstant } from '../model/instant.ts'
import type { RedisConnection } from './redis.ts'

/**
 * When each key of a team was last used, or up to a minute before, as `lookupScript` of `accountKeyStore.ts` writes it; without keys that
 * were not used. Redis may lose it: it is only shown to people.
 */
export async function readLastUse(
  { client, keys }: RedisConnection,
  teamId: TeamId,
): Promise<ReadonlyMap<EntityId, Instant>> {
  const uses = Object.entries(await client.hgetall(keys.lastUse(teamId)))
  return new Map(uses.map(([keyId, epochMs]) => [keyId as EntityId, toInstant(Number(epochMs))]))
}
