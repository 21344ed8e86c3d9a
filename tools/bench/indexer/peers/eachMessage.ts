/** What one would write first: one message, one request. */
import { Client } from '@elastic/elasticsearch'
import { Kafka } from 'kafkajs'
import { readTask } from './task.ts'

const { brokers, node, topic, groupId, index, records } = readTask(process.env)
const client = new Client({ node })
const consumer = new Kafka({ brokers }).consumer({ groupId })
let stored = 0

await consumer.connect()
await consumer.subscribe({ topic, fromBeginning: true })
await consumer.run({
  eachMessage: async ({ message }) => {
    const id = String(message.key)
    const { submission } = JSON.parse(String(message.value)) as { submission: object }
    await client.index({ index, id, routing: id.slice(0, id.indexOf('/')), document: submission })
    if (++stored === records) await client.indices.refresh({ index })
  },
})
