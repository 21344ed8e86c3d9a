import { randomUUID } from 'node:crypto'
import { connectRedis, type RedisConnection } from '../../src/core/redis/redis.ts'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import { SimulatedRedis } from '../simulation/engines/redis/simulatedRedis.ts'
import { localHost, localNetwork } from '../simulation/network.ts'
import { clearRedis } from './clearRedis.ts'
import { eventually } from './eventually.ts'
import { beside, useStarted } from './late.ts'

/** Connects to the Redis shared by all tests. */
export const connectReal = (prefix = 'test'): Promise<RedisConnection> =>
  connected(connectRedis({ REDIS_URL: process.env['REDIS_URL'], INDEX_PREFIX: prefix }, () => undefined))

/**
 * One connection for all tests of a file, each with its own key prefix unless `prefixOf` names one. Keys of a test are deleted after it,
 * or by `lose`, like a flush.
 */
export function useRedis(
  prefixOf = (): string | undefined => `test-${randomUUID().slice(0, 8)}`,
): RedisConnection & { lose(): Promise<void> } {
  const connection = useStarted('the connection', () => connectReal())
  let prefix: string | undefined
  const lose = (): Promise<void> => clearRedis(connection.client, prefix)
  beforeEach(() => {
    prefix = prefixOf()
  })
  afterEach(lose)
  return beside(connection, {
    get keys() {
      return redisKeys(prefix ?? '')
    },
    lose,
  })
}

/** Connects to a new simulated Redis, on the clock of this machine. */
export const connectSimulated = (prefix = 'test'): Promise<RedisConnection> =>
  connected(new SimulatedRedis(localHost()).connect(localNetwork, prefix))

async function connected(link: RedisConnection): Promise<RedisConnection> {
  await eventually(() => link.runId() !== undefined)
  return link
}
