import { type Kafka, Partitioners, type Producer } from 'kafkajs'
import type { RecordHeaders } from './sourceRecord.ts'

/** A record to append. The partition is chosen by the key, as the Java client does. */
export type NewRecord = {
  readonly topic: string
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: RecordHeaders
}

/** Kafka as a place to append records. */
export type KafkaSink = {
  /** Connects. After that, the client reconnects by itself. */
  connect(): Promise<void>
  /**
   * Appends records, one after the other. Resolves once all in-sync replicas have them. A broker waits for the replicas for at most
   * `timeoutMs`, and the client tries six times.
   */
  append(records: readonly NewRecord[], timeoutMs?: number): Promise<void>
  disconnect(): Promise<void>
}

/** Shorter than the client waits for the broker's answer. */
const defaultTimeoutMs = 8_000

/** A producer that partitions by key as the Java client does. */
export const createProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })

export function kafkaSink(kafka: Kafka): KafkaSink {
  const producer = createProducer(kafka)
  return {
    connect: () => producer.connect(),
    append: async (records, timeoutMs = defaultTimeoutMs) => {
      // One at a time: of a send to several brokers, KafkaJS forgets the records of a broker that fails where another one, which has
      // already answered, becomes their leader. The send resolves all the same.
      for (const { topic, key, value, headers = {} } of records)
        await producer.send({ topic, acks: -1, timeout: timeoutMs, messages: [{ key, value, headers }] })
    },
    disconnect: () => producer.disconnect(),
  }
}
