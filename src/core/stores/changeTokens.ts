import type { TeamId } from '../model/ids.ts'
import type { RedisLink } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** The lists that change: each team has a token for both. */
export const entityTypes = ['forms', 'submissions'] as const
export type EntityType = (typeof entityTypes)[number]

/** A team's list, as `<entity type>/<team>`. */
export type ChangedList = `${EntityType}/${TeamId}`

export const changedList = (type: EntityType, teamId: TeamId): ChangedList => `${type}/${teamId}`

/** Keys of one command: Redis serves nobody else meanwhile. */
const maxTokensPerCommand = 1_000

/**
 * Gives each list a new random token: whoever kept an answer under the old one must ask again. Random, never a counter: a Redis
 * that lost its last second would count to the same number twice.
 */
export async function replaceChangeTokens(
  redis: RedisLink,
  keys: RedisKeys,
  lists: readonly ChangedList[],
  newToken: () => string,
): Promise<void> {
  for (let at = 0; at < lists.length; at += maxTokensPerCommand) {
    const some = lists.slice(at, at + maxTokensPerCommand)
    await redis.client.mset(some.flatMap((list) => [keys.changeToken(list), newToken()]))
  }
}
