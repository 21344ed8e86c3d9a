import { createHash } from 'node:crypto'
import type { RedisConnection } from '../../core/stores/redis.ts'
import type { RedisKeys } from '../../core/stores/redisKeys.ts'
import { whileAvailable } from '../requestError.ts'

/** Marks a token as used; false when it was used before. `usableUntilMs` is when the token has expired for good. */
export type ConsumeToken = (tokenId: string, usableUntilMs: number) => Promise<boolean>

/** Keeps used tokens in Redis until they have expired, so that each signs in once. */
export const usedTokens =
  ({ client }: RedisConnection, keys: RedisKeys, nowMs: () => number): ConsumeToken =>
  async (tokenId, usableUntilMs) => {
    const key = keys.usedSignIn(createHash('sha256').update(tokenId).digest('hex'))
    const leftMs = Math.max(1, Math.ceil(usableUntilMs - nowMs()))
    return (await whileAvailable(client.set(key, '1', 'PX', leftMs, 'NX'))) === 'OK'
  }
