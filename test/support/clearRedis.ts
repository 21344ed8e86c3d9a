import type { Redis } from 'ioredis'

/** The names of all keys with this prefix, sorted. */
export async function namesOf(client: Redis, prefix: string): Promise<string[]> {
  const names = new Set<string>()
  let cursor = '0'
  do {
    const [next, page] = await client.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000)
    for (const name of page) names.add(name)
    cursor = next
  } while (cursor !== '0')
  return [...names].sort()
}

/** Deletes all keys with this prefix, like a flush that spares other tests. */
export async function clearRedis(client: Redis, prefix: string | undefined): Promise<void> {
  if (prefix === undefined) throw new Error('the installation has no prefix')
  const names = await namesOf(client, prefix)
  if (names.length > 0) await client.del(...names)
}
