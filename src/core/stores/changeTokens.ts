import type { TeamList } from '../model/teamList.ts'
import type { RedisLink } from './redis.ts'
import type { RedisKeys } from './redisKeys.ts'

/** Keys of one command: Redis serves nobody else meanwhile. */
const maxTokensPerCommand = 1_000

/**
 * Gives each list a new random token: whoever kept an answer under the old one must ask again. Random, never a counter: a Redis
 * that lost its last second would count to the same number twice.
 */
export async function replaceChangeTokens(
  redis: RedisLink,
  keys: RedisKeys,
  lists: readonly TeamList[],
  newToken: () => string,
): Promise<void> {
  for (let at = 0; at < lists.length; at += maxTokensPerCommand) {
    const some = lists.slice(at, at + maxTokensPerCommand)
    await redis.client.mset(some.flatMap((list) => [keys.changeToken(list), newToken()]))
  }
}
