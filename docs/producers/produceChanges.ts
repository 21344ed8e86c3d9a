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

/** How often a transaction is attempted. KafkaJS itself repeats requests; this is for what it does not. */
const attempts = 5

const [brokers = '', transactionalId = ''] = process.argv.slice(2)
const kafka = new kafkajs.Kafka({
  clientId: 'product',
  brokers: brokers.split(','),
  // KafkaJS logs what it then retries. What it does not overcome is thrown.
  logLevel: kafkajs.logLevel.NOTHING,
})
const createProducer = (): kafkajs.Producer =>
  kafka.producer({
    // Hashes keys as the Java client does: all producers must send an entity to the same partition.
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
    idempotent: true,
    maxInFlightRequests: 1,
    transactionalId,
    retry: { retries: 20 },
  })
let producer = createProducer()

try {
  for await (const line of createInterface({ input: process.stdin })) await append(JSON.parse(line) as Change[])
} finally {
  await producer.disconnect()
}

/** Appends these changes in one transaction, which a new producer repeats if it fails. Throws the error of the last attempt. */
async function append(changes: readonly Change[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await appendOnce(changes)
    } catch (error) {
      if (attempt === attempts) throw error
      // KafkaJS does not repeat a commit whose broker ends, and nobody knows whether it took place. A new producer with the same
      // transactional id ends that transaction first, either way. Changes that are appended twice have the same revision: no harm is done.
      await producer.disconnect()
      producer = createProducer()
    }
  }
}

async function appendOnce(changes: readonly Change[]): Promise<void> {
  await producer.connect()
  const transaction = await producer.transaction()
  try {
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
    // A transaction that stays open holds up readers for a minute. After a failed commit this fails, too, and says less than its error.
    await transaction.abort().catch(() => undefined)
    throw error
  }
}
