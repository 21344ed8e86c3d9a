import { CompressionTypes, type Kafka, type Message, Partitioners, type Producer } from 'kafkajs'
import { noHeaders, type RecordHeaders } from './recordHeaders.ts'

export type NewRecord = {
  readonly topic: string
  readonly key: Buffer | string | null
  readonly value: Buffer | string | null
  readonly headers?: RecordHeaders
}

export interface KafkaSink {
  /**
   * Resolves once all in-sync replicas have the records. Rejects after six failed attempts at a record, each of up to ten seconds; earlier records stay
   * appended.
   */
  readonly append: (records: readonly NewRecord[]) => Promise<void>
  readonly disconnect: () => Promise<void>
}

/** How long a broker waits for replicas: less than the client waits for the broker. */
const timeoutMs = 8_000

/**
 * Records from this size on are compressed. A dead letter repeats a record that its product may have compressed: uncompressed, it could exceed
 * `max.message.bytes`.
 */
const compressedFromBytes = 256 * 1024

export const createProducer = (kafka: Kafka): Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false })

export function kafkaSink(kafka: Kafka): KafkaSink {
  const producer = createProducer(kafka)
  return {
    append: async (records) => {
      await producer.connect()
      // One record at a time, because KafkaJS may lose records of a call:
      // - It sends them to brokers 1 and 2, and broker 1 answers.
      // - Broker 2 fails, and broker 1 becomes leader of its partitions.
      // - KafkaJS does not send to broker 1 again, and resolves without the records for broker 2.
      for (const { topic, key, value, headers = noHeaders } of records) {
        const bytes = Buffer.byteLength(value ?? '') + headers.bytes.length
        const isLarge = bytes >= compressedFromBytes
        const compression = isLarge ? CompressionTypes.GZIP : CompressionTypes.None
        const message = { key, value, headers } as unknown as Message
        await producer.send({ topic, acks: -1, timeout: timeoutMs, compression, messages: [message] })
      }
    },
    disconnect: () => producer.disconnect(),
  }
}
