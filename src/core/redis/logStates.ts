import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { RedisConnection } from './redis.ts'

/** The states of a generation expire so long after their last write. */
const lifeMs = 365 * 86_400_000

/**
 * States of the logs from which a generation is built, `<topic>/<partition>` → text (logReplacement.ts): by them an indexer notices that a topic was deleted
 * and created anew. Kafka deletes commits with the topic.
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

/** Empty if Redis has lost them. */
export async function readLogStates(
  { client, keys }: RedisConnection,
  generation: GenerationTag,
): Promise<ReadonlyMap<string, string>> {
  return new Map(Object.entries(await client.hgetall(keys.readLogs(generation))))
}
