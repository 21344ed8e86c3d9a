import type { Kafka } from 'kafkajs'
import { type Cluster, createCluster } from './cluster.ts'
import { partitionName, type TopicPartition } from './sourceRecord.ts'

export type PartitionTime = TopicPartition & { readonly afterMs: number }

/**
 * Reads the offset of each partition's first record after `afterMs` (epoch ms). The result, by `partitionName`, leaves out partitions without one. `times`
 * names a partition once at most. Rejects if a topic is missing or a leader does not answer.
 */
export async function offsetsAfter(kafka: Kafka, times: readonly PartitionTime[]): Promise<Map<string, bigint>> {
  const firstOffsets = new Map<string, bigint>()
  if (times.length === 0) return firstOffsets
  const cluster = createCluster(kafka)
  try {
    for (const [topic, partitions] of Map.groupBy(times, (time) => time.topic)) {
      const offsets = await cluster.retrier(async () => {
        await cluster.addTargetTopic(topic)
        // With cached metadata, the request could go to a former leader.
        await cluster.refreshMetadata()
        return await offsetsOf(cluster, topic, partitions)
      })
      for (const { partition, offset } of offsets) {
        // -1: no such record.
        if (offset >= 0n) firstOffsets.set(partitionName({ topic, partition }), offset)
      }
    }
  } finally {
    await cluster.disconnect().catch(() => undefined)
  }
  return firstOffsets
}

async function offsetsOf(cluster: Cluster, topic: string, times: readonly PartitionTime[]) {
  const leaders = cluster.findLeaderForPartitions(
    topic,
    times.map(({ partition }) => partition),
  )
  const answers = await Promise.all(
    Object.entries(leaders).map(async ([nodeId, ledPartitions]) => {
      const broker = await cluster.findBroker({ nodeId })
      const partitions = times
        .filter(({ partition }) => ledPartitions.includes(partition))
        .map(({ partition, afterMs }) => ({ partition, timestamp: afterMs + 1 }))
      const { responses } = await broker.listOffsets({ topics: [{ topic, partitions }] })
      return responses.flatMap((response) => response.partitions)
    }),
  )
  return answers.flat().map(({ partition, offset }) => ({ partition, offset: BigInt(offset) }))
}
