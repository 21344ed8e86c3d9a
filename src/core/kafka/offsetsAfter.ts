import type { Kafka } from 'kafkajs'
import { type Cluster, createCluster } from './cluster.ts'
import { partitionName, type TopicPartition } from './sourceRecord.ts'

export type PartitionTime = TopicPartition & { readonly afterMs: number }

/**
 * Reads, for each partition of `times`, the offset of the first record with a timestamp after `afterMs` (epoch ms). The result has them by `partitionName`, and
 * leaves out partitions without such a record. `times` names a partition once at most. Rejects if a topic is missing or a leader does not answer.
 */
export async function offsetsAfter(kafka: Kafka, times: readonly PartitionTime[]): Promise<Map<string, bigint>> {
  const firstOffsets = new Map<string, bigint>()
  if (times.length === 0) return firstOffsets
  const cluster = createCluster(kafka)
  try {
    for (const [topic, partitions] of Map.groupBy(times, (time) => time.topic)) {
      const offsets = await cluster.retrier(async () => {
        await cluster.addTargetTopic(topic)
        // With cached metadata, KafkaJS could send the request to a former leader.
        await cluster.refreshMetadata()
        return await offsetsOf(cluster, topic, partitions)
      })
      for (const { partition, offset } of offsets) {
        // Kafka returns -1 for a partition without such a record.
        if (offset >= 0n) firstOffsets.set(partitionName({ topic, partition }), offset)
      }
    }
  } finally {
    // A failed disconnect must not replace the error of a request.
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
      // Kafka returns the first record whose timestamp is at least the requested one.
      const partitions = times
        .filter(({ partition }) => ledPartitions.includes(partition))
        .map(({ partition, afterMs }) => ({ partition, timestamp: afterMs + 1 }))
      const { responses } = await broker.listOffsets({ topics: [{ topic, partitions }] })
      return responses.flatMap((response) => response.partitions)
    }),
  )
  return answers.flat().map(({ partition, offset }) => ({ partition, offset: BigInt(offset) }))
}
