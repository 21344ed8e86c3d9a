import type { Logger } from 'pino'
import type { TeamId } from '../core/model/ids.ts'
import type { RedisConnection } from '../core/redis/redis.ts'
import type { KeyChange } from './keyAudit.ts'

/** Redis stores a team's changes as long after the last one as Kafka retains the audit topic. */
const maxChanges = 100
const lifeSeconds = 400 * 86_400

/** Never rejects. */
export type KeepChange = (change: KeyChange) => Promise<void>

/** Adds changes to the list that the settings area shows. A failure is only logged: the audit topic has every change. */
export const changeKeeper =
  ({ client, keys }: RedisConnection, log: Logger): KeepChange =>
  async (change) => {
    const name = keys.keyChanges(change.team)
    const commands = [
      client.lpush(name, JSON.stringify(change)),
      client.ltrim(name, 0, maxChanges - 1),
      client.expire(name, lifeSeconds),
    ]
    await Promise.all(commands).catch((err: unknown) =>
      log.warn({ err, teamId: change.team }, 'a change of a key is not listed'),
    )
  }

/** Newest first. */
export async function readChanges({ client, keys }: RedisConnection, team: TeamId): Promise<readonly KeyChange[]> {
  const changes = await client.lrange(keys.keyChanges(team), 0, maxChanges - 1)
  return withoutRepetitions(changes.map((text) => JSON.parse(text) as KeyChange))
}

/**
 * A change that was not complete is requested again. Of equal changes of a key, the oldest stays, because a repeated deletion has only the key's id.
 * `changes`: newest first.
 */
export function withoutRepetitions(changes: readonly KeyChange[]): readonly KeyChange[] {
  const nameOf = ({ change, key }: KeyChange): string => `${change} ${key.id}`
  // The last value of a name wins: the oldest.
  const oldest = new Map(changes.map((change) => [nameOf(change), change]))
  return changes.filter((change) => oldest.get(nameOf(change)) === change)
}
