import { connectRedis, type RedisConnection } from '../../src/core/stores/redis.ts'
import { SimulatedRedis } from '../simulation/engines/redis/simulatedRedis.ts'
import { localHost, localNetwork } from '../simulation/network.ts'
import { eventually } from './eventually.ts'

/** The Redis of all tests. */
export const connectReal = (): Promise<RedisConnection> =>
  connected(connectRedis(process.env['REDIS_URL'] ?? '', () => undefined))

/** A simulated Redis of its own, on the clock of this machine. */
export const connectSimulated = (): Promise<RedisConnection> =>
  connected(new SimulatedRedis(localHost()).connect(localNetwork))

async function connected(link: RedisConnection): Promise<RedisConnection> {
  await eventually(() => link.runId() !== undefined)
  return link
}
