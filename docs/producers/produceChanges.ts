/**
 * Example of a producer in TypeScript, with KafkaJS: `node produceChanges.ts <brokers> <transactional id>`.
 *
 * Each line of stdin is a JSON array of changes, `{"topic", "key", "value"}`, with value null for a deletion. A line is one transaction: all of its changes are
 * appended, or none. One process at a time may use a transactional id.
 */
import { createInterface } from 'node:readline'
import kafkajs from 'kafkajs'

type Change = {
  readonly topic: string
  /** `<teamId>/<entityId>` */
  readonly key: string
  /** `{"revision": 7, "form": {…}}`; null: the entity was deleted. */
  readonly value: Readonly<Record<string, unknown>> | null
}

const [brokers = '', transactionalId = ''] = process.argv.slice(2)
const kafka = new kafkajs.Kafka({
  clientId: 'product',
  brokers: brokers.split(','),
  // KafkaJS logs what it then retries. What it does not overcome is thrown.
  logLevel: kafkajs.logLevel.NOTHING,
})
const producer = kafka.producer({
  // Hashes keys as the Java client does: all producers must send an entity to the same partition.
  createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  idempotent: true,
  maxInFlightRequests: 1,
  transactionalId,
  retry: { retries: 20 },
})

await producer.connect()
try {
  for await (const line of createInterface({ input: process.stdin })) {
    const transaction = await producer.transaction()
    try {
      const changes = JSON.parse(line) as Change[]
      // One at a time: of a send to several brokers, KafkaJS forgets the records of a broker that fails where another one, which has
      // already answered, becomes their leader. The send resolves all the same.
      for (const { topic, key, value } of changes)
        await transaction.send({
          topic,
          acks: -1,
          compression: kafkajs.CompressionTypes.GZIP,
          messages: [{ key, value: value === null ? null : JSON.stringify(value) }],
        })
      await transaction.commit()
    } catch (error) {
      await transaction.abort()
      throw error
    }
  }
} finally {
  await producer.disconnect()
}
