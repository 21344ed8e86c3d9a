import { randomUUID } from 'node:crypto'
import { connectRedis, type RedisConnection } from '../../src/core/redis/redis.ts'
import { redisKeys } from '../../src/core/redis/redisKeys.ts'
import { SimulatedRedis } from '../simulation/engines/redis/simulatedRedis.ts'
import { localHost, localNetwork } from '../simulation/network.ts'
import { clearRedis } from './clearRedis.ts'
import { eventually } from './eventually.ts'
import { useStarted, withMembers } from './lifecycle.ts'

/** Connects to the Redis shared by all tests. */
export const connectReal = (prefix = 'test'): Promise<RedisConnection> =>
  connected(connectRedis({ REDIS_URL: process.env['REDIS_URL'], INDEX_PREFIX: prefix }, () => undefined))

/**
 * One connection for all tests of a file. Each test has a key prefix of its own, unless `prefixOf` names one. The keys of a test are
 * deleted after it; `lose` deletes them earlier, as a flush of Redis does.
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
  return withMembers(connection, {
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
