import type { ConsumerRunConfig, Kafka } from 'kafkajs'
import { readTopic } from '../../../../src/core/kafka/readTopic.ts'
import { SimulatedKafka } from '../../../simulation/engines/kafka/simulatedKafka.ts'
import { localHost, localNetwork } from '../../../simulation/network.ts'

const topic = 'forms'

/** Kafka with one record, which a consumer cannot leave without an error. */
const kafka = (): Kafka => {
  const message = { offset: '0', key: Buffer.from('acme/f1'), value: null, headers: {}, timestamp: '0', attributes: 0 }
  const eachBatch = {
    batch: { topic, partition: 0, messages: [message], lastOffset: () => '0' },
    heartbeat: () => undefined,
  }
  const admin = {
    connect: async () => undefined,
    fetchTopicOffsets: async () => [{ partition: 0, low: '0', high: '1' }],
    disconnect: async () => undefined,
  }
  const consumer = {
    ...{ events: {}, on: () => undefined, connect: async () => undefined, subscribe: async () => undefined },
    run: async ({ eachBatch: take }: ConsumerRunConfig) => await take?.(eachBatch as never),
    disconnect: () => Promise.reject(new Error('the coordinator is gone')),
  }
  return { admin: () => admin, consumer: () => consumer } as unknown as Kafka
}

test('what was read is read, and what ended the reading is told, though the group cannot be left', async () => {
  const offsets: bigint[] = []
  const options = { topic, groupId: 'g', signal: new AbortController().signal }
  await readTopic(kafka(), { ...options, onRecord: async ({ offset }) => void offsets.push(offset) })
  expect(offsets).toEqual([0n])
  const failing = async (): Promise<never> => {
    throw new Error('the store is full')
  }
  await expect(readTopic(kafka(), { ...options, onRecord: failing })).rejects.toThrow('the store is full')
  await expect(
    readTopic(kafka(), { ...options, signal: AbortSignal.abort(new Error('stopped')), onRecord: failing }),
  ).rejects.toThrow('stopped')
})

test('a topic is read to its end, also when compaction has removed the records there', async () => {
  const simulated = new SimulatedKafka(localHost())
  simulated.createTopic({ topic, partitions: 1, settings: {} })
  simulated.append(topic, 'acme/f1', 'left')
  const { offset } = simulated.append(topic, 'acme/f2', null)
  simulated.compact(topic, { below: offset + 1n, dropTombstones: true })
  const keys: string[] = []
  await simulated
    .client(localNetwork)
    .openSource()
    .readTopic({
      ...{ topic, groupId: 'g', signal: AbortSignal.timeout(60_000) },
      onRecord: async ({ key }) => void keys.push(String(key)),
    })
  expect(keys).toEqual(['acme/f1'])
})
