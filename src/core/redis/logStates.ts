import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { RedisConnection } from './redis.ts'

/** The state that is stored for a generation expires after this time without another write. */
const lifeMs = 365 * 86_400_000

/**
 * Stores the state of the logs from which a generation was read: topic/partition → text. The metadata of commits would not do: when a topic is deleted,
 * Kafka deletes its commits, too, and a new topic of the same name would be mistaken for the log that was read.
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

/** Reads what `storeLogStates` has stored for a generation; empty if Redis has lost it. */
export async function readLogStates(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
): Promise<ReadonlyMap<string, string>> {
  return new Map(Object.entries(await client.hgetall(keys.readLogs(generation))))
}
