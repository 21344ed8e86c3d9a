import type { Kafka } from 'kafkajs'
import { type Cluster, createCluster } from './cluster.ts'
import { partitionName, type TopicPartition } from './sourceRecord.ts'

/** A partition, and a time in it (epoch ms). */
export type PartitionTime = TopicPartition & { readonly afterMs: number }

/**
 * The first offset of each partition at which a record was appended after `afterMs`, by `partitionName`; a partition that holds no such record
 * is left out. Each partition may be named once. Asks leaders by metadata of its own, so that no former leader is asked that KafkaJS remembers.
 * Rejects when a topic is missing, or a leader does not answer.
 */
export async function offsetsAfter(kafka: Kafka, times: readonly PartitionTime[]): Promise<Map<string, bigint>> {
  const found = new Map<string, bigint>()
  if (times.length === 0) return found
  const cluster = createCluster(kafka)
  try {
    for (const [topic, partitions] of Map.groupBy(times, (each) => each.topic)) {
      const offsets = await cluster.retrier(async () => {
        await cluster.addTargetTopic(topic)
        // A leader that has changed is asked again with fresh metadata.
        await cluster.refreshMetadata()
        return await offsetsOf(cluster, topic, partitions)
      })
      for (const { partition, offset } of offsets)
        if (offset >= 0n) found.set(partitionName({ topic, partition }), offset)
    }
  } finally {
    // A failed disconnect must not replace the error of a question.
    await cluster.disconnect().catch(() => undefined)
  }
  return found
}

async function offsetsOf(cluster: Cluster, topic: string, times: readonly PartitionTime[]) {
  const leaders = cluster.findLeaderForPartitions(
    topic,
    times.map(({ partition }) => partition),
  )
  const answers = await Promise.all(
    Object.entries(leaders).map(async ([nodeId, led]) => {
      const broker = await cluster.findBroker({ nodeId })
      const asked = times.filter(({ partition }) => led.includes(partition))
      // Kafka answers with the first record that was not appended before the time asked for.
      const partitions = asked.map(({ partition, afterMs }) => ({ partition, timestamp: afterMs + 1 }))
      const { responses } = await broker.listOffsets({ topics: [{ topic, partitions }] })
      return responses.flatMap((each) => each.partitions)
    }),
  )
  return answers.flat().map(({ partition, offset }) => ({ partition, offset: BigInt(offset) }))
}
