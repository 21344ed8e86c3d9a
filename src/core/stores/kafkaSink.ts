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
   * Appends records; those of one partition stay in order. Resolves once all in-sync replicas have them. A broker waits for the
   * replicas for at most `timeoutMs`, and the client tries six times.
   */
  append(records: readonly NewRecord[], timeoutMs?: number): Promise<void>
  disconnect(): Promise<void>
}

const defaultTimeoutMs = 30_000

/** A producer that partitions by key as the Java client does. */
export const createProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })

export function kafkaSink(kafka: Kafka): KafkaSink {
  const producer = createProducer(kafka)
  return {
    connect: () => producer.connect(),
    append: async (records, timeoutMs = defaultTimeoutMs) => {
      const byTopic = Map.groupBy(records, ({ topic }) => topic)
      const topicMessages = [...byTopic].map(([topic, some]) => ({
        topic,
        messages: some.map(({ key, value, headers = {} }) => ({ key, value, headers })),
      }))
      await producer.sendBatch({ acks: -1, timeout: timeoutMs, topicMessages })
    },
    disconnect: () => producer.disconnect(),
  }
}
