import type { RedisLink } from './redis.ts'

/** Bytes that Redis holds, and the bound at which it refuses writes; undefined where it has none. */
export type RedisMemory = { readonly usedBytes: number; readonly limitBytes: number | undefined }

export async function readRedisMemory({ client }: RedisLink): Promise<RedisMemory> {
  const info = await client.info('memory')
  const [used, limit] = ['used_memory', 'maxmemory'].map((name) =>
    Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0),
  )
  return { usedBytes: used ?? 0, limitBytes: limit === 0 ? undefined : limit }
}
