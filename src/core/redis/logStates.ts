import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { RedisConnection } from './redis.ts'

/** After this time without a write, the state of a generation expires. */
const lifeMs = 365 * 86_400_000

/**
 * Stores the state of the logs from which a generation was read: topic/partition → text. Commits cannot store it: Kafka deletes them with their topic, and
 * a new topic of the same name would be mistaken for the log that was read.
 */
export async function storeLogStates(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
  logs: ReadonlyMap<string, string>,
): Promise<void> {
  if (logs.size === 0) return
  const key = keys.readLogs(generation)
  await client.hset(key, ...[...logs].flat())
  await client.pexpire(key, lifeMs)
}

/** As stored by `storeLogStates`; empty if Redis has lost it. */
export async function readLogStates(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
): Promise<ReadonlyMap<string, string>> {
  return new Map(Object.entries(await client.hgetall(keys.readLogs(generation))))
}
