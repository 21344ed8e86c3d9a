/** What one would write next: whole batches, all partitions at once, through the client's bulk helper. */
import { Client } from '@elastic/elasticsearch'
import { Kafka, type KafkaMessage } from 'kafkajs'
import { partitions, readTask } from './task.ts'

const { brokers, node, topic, groupId, index, records } = readTask(process.env)
const client = new Client({ node })
const consumer = new Kafka({ brokers }).consumer({ groupId })
let stored = 0

const documentOf = ({ key, value }: KafkaMessage) => ({
  id: String(key),
  submission: (JSON.parse(String(value)) as { submission: object }).submission,
})

await consumer.connect()
await consumer.subscribe({ topic, fromBeginning: true })
await consumer.run({
  partitionsConsumedConcurrently: partitions,
  eachBatch: async ({ batch }) => {
    await client.helpers.bulk({
      datasource: batch.messages.map(documentOf),
      onDocument: ({ id, submission }) => [
        { index: { _index: index, _id: id, routing: id.slice(0, id.indexOf('/')) } },
        submission,
      ],
      onDrop: ({ error }) => {
        throw new Error(JSON.stringify(error))
      },
    })
    stored += batch.messages.length
    if (stored === records) await client.indices.refresh({ index })
  },
})
