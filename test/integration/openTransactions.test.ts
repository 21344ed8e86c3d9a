import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import kafkajs, { type Producer } from 'kafkajs'
// As every process of the product has it.
import '../../src/core/kafka/client.ts'
import { clearRedis } from '../support/clearRedis.ts'
import { eventually } from '../support/eventually.ts'
import { recordsOf } from '../support/faults.ts'
import { usePipeline } from '../support/usePipeline.ts'

const pipeline = usePipeline({ forEachTest: true })
const producers: Producer[] = []
afterEach(() => Promise.all(producers.splice(0).map((producer) => producer.disconnect())))

/** Longer than several fetches wait. */
const longQuietMs = 4_000

const transactional = async (): Promise<Producer> => {
  const producer = pipeline.kafka.producer({
    transactionalId: `${pipeline.names['INDEX_PREFIX']}-transactions`,
    idempotent: true,
    maxInFlightRequests: 1,
    createPartitioner: kafkajs.Partitioners.DefaultPartitioner,
  })
  producers.push(producer)
  await producer.connect()
  return producer
}
const createTopic = async (topic: string): Promise<void> => {
  const admin = pipeline.kafka.admin()
  await admin.connect()
  await admin.createTopics({ topics: [{ topic, numPartitions: 1 }] })
  await admin.disconnect()
}

test('a topic that ends with what a transaction has aborted is read', async () => {
  const topic = `${pipeline.names['INDEX_PREFIX']}-aborted`
  await createTopic(topic)
  const transaction = await (await transactional()).transaction()
  await transaction.send({ topic, messages: [{ key: 'in', value: 'the transaction' }] })
  const reading = recordsOf(pipeline.kafka, topic)
  await transaction.abort()
  expect(await reading).toEqual([])
})

test('after a loss of Redis no key is answered by what an open transaction hides', async () => {
  await pipeline.startIndexer()
  await pipeline.createKeys(['acme', 'other'])
  const api = await pipeline.startApi()
  const statusOf = async (team: string): Promise<number> => (await pipeline.get(api, team, '/api/v1/forms')).status
  await eventually(async () => (await statusOf('acme')) === 200 && (await statusOf('other')) === 200)
  const topic = pipeline.names['TOPIC_ACCOUNT_KEYS'] ?? ''
  const transaction = await (await transactional()).transaction()
  // Every partition is open, whatever the keys are.
  await transaction.send({
    topic,
    messages: [0, 1, 2, 3].map((partition) => ({ partition, key: `open/k${partition}`, value: null })),
  })
  await pipeline.createKeys(['late'])
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  await clearRedis(redis, pipeline.names['INDEX_PREFIX'])
  redis.disconnect()
  const answers = new Set<number>()
  const endsAtMs = Date.now() + 2 * longQuietMs
  while (Date.now() < endsAtMs) {
    answers.add(await statusOf('late'))
    await sleep(100)
  }
  await transaction.commit()
  expect([...answers]).toEqual([503])
  await eventually(async () => (await statusOf('late')) === 200)
})
