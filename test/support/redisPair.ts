import { connectRedis, type RedisConnection } from '../../src/core/stores/redis.ts'
import { SimulatedRedis } from '../simulation/engines/redis/simulatedRedis.ts'
import { localHost, localNetwork } from '../simulation/network.ts'
import { eventually } from './eventually.ts'

/** The Redis of all tests. */
export const connectReal = (prefix = 'test'): Promise<RedisConnection> =>
  connected(connectRedis({ REDIS_URL: process.env['REDIS_URL'], INDEX_PREFIX: prefix }, () => undefined))

/** A simulated Redis of its own, on the clock of this machine. */
export const connectSimulated = (prefix = 'test'): Promise<RedisConnection> =>
  connected(new SimulatedRedis(localHost()).connect(localNetwork, prefix))

async function connected(link: RedisConnection): Promise<RedisConnection> {
  await eventually(() => link.runId() !== undefined)
  return link
}
