import { createHash } from 'node:crypto'
import type { RedisConnection } from '../../core/stores/redis.ts'
import type { RedisKeys } from '../../core/stores/redisKeys.ts'
import { whileAvailable } from '../requestError.ts'

/** Takes a token's only use; false when somebody had it before. `usableUntilMs` is when nobody could use it any more. */
export type TakeUse = (tokenId: string, usableUntilMs: number) => Promise<boolean>

/** Remembers in Redis which tokens were used, as long as they could be used again. */
export const usedTokens =
  ({ client }: RedisConnection, keys: RedisKeys, nowMs: () => number): TakeUse =>
  async (tokenId, usableUntilMs) => {
    const key = keys.usedSignIn(createHash('sha256').update(tokenId).digest('hex'))
    const leftMs = Math.max(1, Math.ceil(usableUntilMs - nowMs()))
    return (await whileAvailable(client.set(key, '1', 'PX', leftMs, 'NX'))) === 'OK'
  }
