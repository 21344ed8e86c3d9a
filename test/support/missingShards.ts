import type { Client } from '@elastic/elasticsearch'

const bound = 'index.routing.allocation.total_shards_per_node'

/** Allows indices that are created under this pattern one shard per node: on a single node, all other shards have no copy. */
export const createWithMissingShards = (client: Client, pattern: string) =>
  client.indices.putIndexTemplate({
    ...{ name: pattern.replaceAll('*', 'x'), index_patterns: [pattern], priority: 500 },
    template: { settings: { [bound]: 1 } },
  })

/** Gives an index the shards that it lacks. */
export async function giveMissingShards(client: Client, pattern: string): Promise<void> {
  await client.indices.deleteIndexTemplate({ name: pattern.replaceAll('*', 'x') })
  await client.indices.putSettings({ index: pattern, settings: { [bound]: null } })
}

/** Whether the shard of a team has no copy. */
export async function isShardMissing(client: Client, index: string, routing: string): Promise<boolean> {
  const { shards = [] } = await client.searchShards({ index, routing })
  return shards.flat().length === 0
}
