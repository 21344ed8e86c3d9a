import type { RedisConnection } from './redis.ts'

const namesAtOnce = 500

/**
 * Yields [rest of the name, fields] for each hash whose name begins with `prefix`, without glob characters. A hash that is written meanwhile may be left out,
 * and a hash may come twice. Ends early when `signal` aborts.
 */
export async function* scanHashes({ client }: Pick<RedisConnection, 'client'>, prefix: string, signal?: AbortSignal) {
  let cursor = '0'
  do {
    const [next, names] = await client.scan(cursor, 'MATCH', `${prefix}*`, 'COUNT', namesAtOnce)
    const hashes = await Promise.all(names.map((name) => client.hgetall(name)))
    for (const [at, hash] of hashes.entries()) yield [(names[at] ?? '').slice(prefix.length), hash] as const
    cursor = next
  } while (cursor !== '0' && signal?.aborted !== true)
}
