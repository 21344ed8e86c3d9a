import { CompressionTypes, type Kafka, type Message, Partitioners, type Producer } from 'kafkajs'
import { noHeaders, type RecordHeaders } from './recordHeaders.ts'

/** A record to append. The hash of its key selects the partition, the same as in the Java client. */
export type NewRecord = {
  readonly topic: string
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: RecordHeaders
}

export interface KafkaSink {
  /**
   * Appends records one by one, and resolves once all in-sync replicas have them (acks=all). Rejects after six failed attempts to append a record, each
   * of up to ten seconds; the records before it are appended.
   */
  readonly append: (records: readonly NewRecord[]) => Promise<void>
  readonly disconnect: () => Promise<void>
}

/** How long a broker waits for in-sync replicas. Shorter than the client's request timeout, so that the broker's answer arrives in time. */
const timeoutMs = 8_000

/**
 * Records of this size or more are compressed. A topic's `max.message.bytes` bounds compressed bytes, so a dead letter whose source was compressed may
 * not fit uncompressed.
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
      // One record at a time, because KafkaJS may lose records of a call: it sends them to brokers 1 and 2; broker 1 answers; broker 2 fails, and
      // broker 1 becomes leader of its partitions. KafkaJS does not send to broker 1 again, and resolves although the records for broker 2 are in no
      // partition.
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
