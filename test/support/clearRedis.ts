import type { Redis } from 'ioredis'

/** Deletes everything that Redis holds of the installation with this prefix, as a flush would; that of other tests stays. */
export async function clearRedis(client: Redis, prefix: string | undefined): Promise<void> {
  if (prefix === undefined) throw new Error('the installation has no prefix')
  const keys = await client.keys(`${prefix}:*`)
  if (keys.length > 0) await client.del(...keys)
}
