import { CompressionTypes, type Kafka, type Message, Partitioners, type Producer } from 'kafkajs'
import { noHeaders, type RecordHeaders } from './recordHeaders.ts'

/** A record to append. Its key selects the partition, as in the Java client. */
export type NewRecord = {
  readonly topic: string
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: RecordHeaders
}

/** Appends records to Kafka. */
export interface KafkaSink {
  /** Resolves once all in-sync replicas have the records (acks=all). Rejects after six attempts of eight seconds. */
  readonly append: (records: readonly NewRecord[]) => Promise<void>
  readonly disconnect: () => Promise<void>
}

/** How long a broker waits for in-sync replicas; shorter than the client's request timeout. */
const timeoutMs = 8_000

/**
 * Records of this size or more are compressed: a topic's `max.message.bytes` bounds compressed bytes, so a dead letter that came compressed may not
 * fit otherwise.
 */
const compressedFromBytes = 256 * 1024

/** A producer that partitions by key, as the Java client does. */
export const createProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })

export function kafkaSink(kafka: Kafka): KafkaSink {
  const producer = createProducer(kafka)
  return {
    append: async (records) => {
      await producer.connect()
      // One record at a time, because KafkaJS may lose records of one send. It sends to brokers 1 and 2. Broker 1 answers, broker 2 fails, and broker 1
      // becomes leader of its partitions. KafkaJS resolves, without the records for broker 2.
      for (const { topic, key, value, headers = noHeaders } of records) {
        const bytes = Buffer.byteLength(value ?? '') + headers.bytes.length
        const isLarge = bytes >= compressedFromBytes
        const compression = isLarge ? CompressionTypes.GZIP : CompressionTypes.None
        // KafkaJS passes `RecordHeaders` on to its encoder, which `keepHeaders` has replaced.
        const message = { key, value, headers } as unknown as Message
        await producer.send({ topic, acks: -1, timeout: timeoutMs, compression, messages: [message] })
      }
    },
    disconnect: () => producer.disconnect(),
  }
}
