import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { RedisConnection } from './redis.ts'

/** A generation that nobody writes any more is forgotten after this time. */
const lifeMs = 365 * 86_400_000

/**
 * Keeps what was found in the logs that a generation was read from: topic/partition → text. With a topic, Kafka deletes what a group has committed
 * for it.
 */
export async function keepReadLogs(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
  logs: ReadonlyMap<string, string>,
): Promise<void> {
  if (logs.size === 0) return
  const key = keys.readLogs(generation)
  await client.hset(key, ...[...logs].flat())
  await client.pexpire(key, lifeMs)
}

/** Reads what is kept of the logs of a generation; nothing where Redis has lost it. */
export async function readLogsOf(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
): Promise<ReadonlyMap<string, string>> {
  return new Map(Object.entries(await client.hgetall(keys.readLogs(generation))))
}
