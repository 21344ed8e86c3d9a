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

/** The names of all keys with this prefix, in their order. */
export async function namesOf({ client }: RedisConnection, prefix: string): Promise<string[]> {
  const names = new Set<string>()
  let cursor = '0'
  do {
    const [next, page] = await client.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000)
    for (const name of page) names.add(name)
    cursor = next
  } while (cursor !== '0')
  return [...names].sort()
}
