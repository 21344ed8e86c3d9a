import type { Client } from '@elastic/elasticsearch'
import type { Redis } from 'ioredis'
import type { Admin } from 'kafkajs'
import type { Cluster } from '../../tools/engines/engines.ts'

/** The addresses of a cluster's Sentinels, for the Redis client. */
export const sentinelAddresses = ({ REDIS_SENTINELS }: Cluster['urls']): { host: string; port: number }[] =>
  REDIS_SENTINELS.split(',').map((address) => {
    const [host = '', port] = address.split(':')
    return { host, port: Number(port) }
  })

/** Whether Elasticsearch has three nodes and all copies of all shards. */
export async function isElasticsearchWhole(elasticsearch: Client): Promise<boolean> {
  const { status, number_of_nodes, relocating_shards } = await elasticsearch.cluster.health()
  return status === 'green' && number_of_nodes === 3 && relocating_shards === 0
}

/** Whether every partition of every topic has a leader and `count` replicas in sync. */
export async function areInSync(admin: Admin, count: number, topics?: string[]): Promise<boolean> {
  const metadata = await admin.fetchTopicMetadata({ topics: topics ?? (await admin.listTopics()) })
  return metadata.topics.every(({ partitions }) =>
    partitions.every(({ isr, leader }) => isr.length === count && leader >= 0),
  )
}

/** Whether the connected Redis is a master whose replica follows it. */
export async function isRedisWhole(redis: Redis): Promise<boolean> {
  const info = await redis.info('replication')
  return /^role:master/m.test(info) && /^slave0:.*state=online/m.test(info)
}
