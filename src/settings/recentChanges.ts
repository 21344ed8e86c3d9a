import type { Logger } from 'pino'
import type { TeamId } from '../core/model/ids.ts'
import type { RedisConnection } from '../core/redis/redis.ts'
import type { KeyChange } from './keyAudit.ts'

/** How many changes of a team are kept, and for how long after the last one: as long as the records of the audit topic. */
const maxChanges = 100
const lifeSeconds = 400 * 86_400

export type KeepChange = (change: KeyChange) => Promise<void>

/**
 * Adds changes of keys to the list that the settings area shows. The audit topic is the record of truth: a change is complete without this list, so
 * that the promise never rejects.
 */
export const changeKeeper =
  ({ client, keys }: RedisConnection, log: Logger): KeepChange =>
  async (change) => {
    const name = keys.keyChanges(change.team)
    const kept = [
      client.lpush(name, JSON.stringify(change)),
      client.ltrim(name, 0, maxChanges - 1),
      client.expire(name, lifeSeconds),
    ]
    await Promise.all(kept).catch((err: unknown) =>
      log.warn({ err, teamId: change.team }, 'a change of a key is not listed'),
    )
  }

/** The latest changes of a team's keys, newest first. */
export async function readChanges({ client, keys }: RedisConnection, team: TeamId): Promise<readonly KeyChange[]> {
  const changes = await client.lrange(keys.keyChanges(team), 0, maxChanges - 1)
  return withoutRepetitions(changes.map((text) => JSON.parse(text) as KeyChange))
}

/**
 * Leaves out repeated changes: each key is created, revoked and deleted once, but a change that was not complete is requested again. Of several, the
 * first one counts, because a repeated deletion knows only the key's id. `changes` are newest first.
 */
export function withoutRepetitions(changes: readonly KeyChange[]): readonly KeyChange[] {
  const nameOf = ({ change, key }: KeyChange): string => `${change} ${key.id}`
  const firsts = new Map(changes.map((change) => [nameOf(change), change]))
  return changes.filter((change) => firsts.get(nameOf(change)) === change)
}
