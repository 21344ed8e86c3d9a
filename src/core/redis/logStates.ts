import type { GenerationTag } from '../elasticsearch/indices.ts'
import type { RedisConnection } from './redis.ts'

/** The stored states of a generation's logs expire this long after the last write. */
const lifeMs = 365 * 86_400_000

/**
 * Stores states of the logs from which a generation (the four indices that serve together) is built: `<topic>/<partition>` → text (logReplacement.ts). An
 * indexer compares them to notice that a topic was deleted and created anew. Commits cannot store them, because Kafka deletes commits together with their
 * topic.
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
