import kafkajs from 'kafkajs'
import { pino } from 'pino'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { type KafkaSink, kafkaSink } from '../../src/core/kafka/sink.ts'
import { type KafkaSource, kafkaSource } from '../../src/core/kafka/source.ts'
import { SimulatedKafka } from '../simulation/engines/kafka/simulatedKafka.ts'
import { localHost, localNetwork } from '../simulation/network.ts'
import { createCompactedTopics, fillerKey } from './compaction.ts'
import { testConfig } from './config.ts'
import { withAdmin } from './topics.ts'

/** Kafka, with operations that the product itself never does. */
export type KafkaUnderTest = {
  /** A new client, as of another process. */
  client(): { openSource(): KafkaSource; readonly sink: KafkaSink }
  addPartition(topic: string): Promise<void>
  /** Deletes the records of a partition below an offset, as retention does. */
  deleteBelow(topic: string, partition: number, offset: bigint): Promise<void>
  /** Begins a transaction in the first partition of a topic; the returned function aborts it. */
  beginTransaction(topic: string): Promise<() => Promise<void>>
  /** Creates a topic of one partition, for `compact`. */
  createCompacted(topic: string): Promise<void>
  /** Advances compaction; call repeatedly. It may append deletions of `fillerKey`. */
  compact(topic: string): Promise<void>
}

export function realKafka(): KafkaUnderTest {
  const connect = () => connectKafka(testConfig({}), pino({ level: 'silent' }))
  const kafka = connect()
  return {
    client: () => {
      const own = connect()
      return { openSource: () => kafkaSource(own), sink: kafkaSink(own) }
    },
    addPartition: (topic) =>
      withAdmin(kafka, async (admin) => {
        const count = (await admin.fetchTopicOffsets(topic)).length + 1
        await admin.createPartitions({ topicPartitions: [{ topic, count }] })
      }),
    deleteBelow: (topic, partition, offset) =>
      withAdmin(kafka, async (admin) => {
        await admin.fetchTopicMetadata({ topics: [topic] })
        await admin.deleteTopicRecords({ topic, partitions: [{ partition, offset: String(offset) }] })
      }),
    beginTransaction: async (topic) => {
      const producer = kafka.producer({
        ...{ transactionalId: topic, idempotent: true, maxInFlightRequests: 1 },
        createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
      })
      await producer.connect()
      const transaction = await producer.transaction()
      await transaction.send({ topic, messages: [{ partition: 0, value: 'never committed' }] })
      return async () => {
        await transaction.abort()
        await producer.disconnect()
      }
    },
    createCompacted: (topic) => createCompactedTopics({ kafka }, [topic], 1),
    compact: async (topic) => {
      const sink = kafkaSink(kafka)
      await sink.append([{ topic, key: fillerKey, value: null }])
      await sink.disconnect()
    },
  }
}

export function simulatedKafka(): KafkaUnderTest {
  const kafka = new SimulatedKafka(localHost())
  return {
    client: () => kafka.client(localNetwork),
    addPartition: async (topic) => kafka.topics.addPartition(topic),
    deleteBelow: async (topic, partition, offset) => kafka.deleteBelow(topic, partition, offset),
    beginTransaction: async (topic) => {
      kafka.topics.setTransaction(topic, true)
      return async () => kafka.topics.setTransaction(topic, false)
    },
    createCompacted: async (topic) =>
      kafka.topics.create({ topic, partitions: 1, settings: { 'cleanup.policy': 'compact' } }),
    compact: async (topic) => {
      kafka.append(topic, fillerKey, null)
      kafka.compact(topic)
    },
  }
}
