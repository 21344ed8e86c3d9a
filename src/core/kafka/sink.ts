import { CompressionTypes, type Kafka, type Message, Partitioners, type Producer } from 'kafkajs'
import { noHeaders, type RecordHeaders } from './recordHeaders.ts'

/** A record to append. Its key selects the partition, as in the Java client. */
export type NewRecord = {
  readonly topic: string
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: RecordHeaders
}

export type KafkaSink = ReturnType<typeof kafkaSink>

/** How long a broker waits for in-sync replicas; shorter than the client's request timeout. */
const timeoutMs = 8_000

/** From this size on records are compressed. A topic's `max.message.bytes` bounds compressed bytes: what arrived compressed may fit no other way. */
const compressedFromBytes = 256 * 1024

/** A producer that partitions by key, as the Java client does. */
export const createProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })

export function kafkaSink(kafka: Kafka) {
  const producer = createProducer(kafka)
  return {
    /** Resolves once all in-sync replicas have the records (acks=all). Rejects after six attempts, eight seconds each. */
    append: async (records: readonly NewRecord[]): Promise<void> => {
      await producer.connect()
      // One record at a time: when a send spans several brokers and one of them fails, KafkaJS drops that broker's records, yet
      // resolves, if a broker that has already answered becomes the new leader.
      for (const { topic, key, value, headers = noHeaders } of records) {
        const bytes = Buffer.byteLength(value ?? '') + headers.bytes.length
        const isLarge = bytes >= compressedFromBytes
        const compression = isLarge ? CompressionTypes.GZIP : CompressionTypes.None
        // KafkaJS does not know them, but hands them to its encoder (`keepHeaders`).
        const message = { key, value, headers } as unknown as Message
        await producer.send({ topic, acks: -1, timeout: timeoutMs, compression, messages: [message] })
      }
    },
    disconnect: (): Promise<void> => producer.disconnect(),
  }
}
