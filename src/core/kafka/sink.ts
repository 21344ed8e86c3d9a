import { type Kafka, Partitioners, type Producer } from 'kafkajs'
import type { RecordHeaders } from './sourceRecord.ts'

/** A record to append. The partition is chosen by the key, as the Java client does. */
export type NewRecord = {
  readonly topic: string
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: RecordHeaders
}

export type KafkaSink = ReturnType<typeof kafkaSink>

/** How long a broker waits for the replicas. Below the timeout of the client's request. */
const timeoutMs = 8_000

/** A producer that partitions by key as the Java client does. */
export const createProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })

/** Kafka as a place to append records. */
export function kafkaSink(kafka: Kafka) {
  const producer = createProducer(kafka)
  return {
    /** Resolves once all in-sync replicas have the records. A broker waits for them for eight seconds; the client tries six times. */
    append: async (records: readonly NewRecord[]): Promise<void> => {
      await producer.connect()
      // One record at a time: in a send to several brokers, KafkaJS drops the records of a broker that fails, and resolves, if a broker
      // that has already answered becomes their leader.
      for (const { topic, key, value, headers = {} } of records)
        await producer.send({ topic, acks: -1, timeout: timeoutMs, messages: [{ key, value, headers }] })
    },
    disconnect: (): Promise<void> => producer.disconnect(),
  }
}
