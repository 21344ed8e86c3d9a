import { setImmediate as nextTurn } from 'node:timers/promises'
import { toOffset } from '../../../../src/core/model/ids.ts'
import { SimulatedKafka } from '../../../simulation/engines/kafka/simulatedKafka.ts'
import { localHost, localNetwork, type Network, NetworkFailure } from '../../../simulation/network.ts'
import { closing } from '../../../support/closing.ts'
import { eventually } from '../../../support/eventually.ts'
import type { ReaderOptions } from '../../../support/groupReader.ts'
import { TopicUnderTest } from '../../../support/topicUnderTest.ts'

const closed = closing()

/** A group of one member that has all partitions of a topic. The network loses the connection at a request of `losing`, and keeps those of `held`. */
async function setting(options: ReaderOptions = {}) {
  const losing = new Set<string>()
  const held = new Map<string, PromiseWithResolvers<void>>()
  const network: Network = {
    call: async (engine, what, work, options) => {
      await held.get(what)?.promise
      if (!losing.delete(what)) return await localNetwork.call(engine, what, work, options)
      throw new NetworkFailure('unreachable', what)
    },
  }
  const kafka = new SimulatedKafka(localHost())
  const on = closed(new TopicUnderTest(kafka.client(network)))
  kafka.topics.create({ topic: on.topic, partitions: 2, settings: {} })
  const reader = on.startReader(options)
  await eventually(async () => reader.assigned().length === 2)
  return { kafka, on, reader, losing, held }
}

test.each<[string, (kafka: SimulatedKafka, on: TopicUnderTest) => void]>([
  ['the coordinator has forgotten it', (kafka, { groupId }) => kafka.group(groupId).endSessions()],
  ['a partition was added', (kafka, { topic }) => kafka.topics.addPartition(topic)],
  ['its group rebalances', (kafka, { groupId }) => kafka.group(groupId).rebalance()],
])('a member that joins again because %s, and gets no assignment, has no partitions', async (_why, happen) => {
  const { kafka, on, reader, losing } = await setting()
  losing.add('SyncGroup')
  happen(kafka, on)
  await expect(reader.ended).rejects.toThrow()
  expect(reader.assigned()).toEqual([])
})

test('a stopping member rejects a commit that it does not send', async () => {
  const { on, reader, held } = await setting()
  held.set('LeaveGroup', Promise.withResolvers())
  const left = reader.close()
  await nextTurn()
  const position = { topic: on.topic, partition: 0, position: toOffset('1'), metadata: '' }
  const [commit] = await Promise.allSettled([reader.member.commit([position])])
  held.get('LeaveGroup')?.resolve()
  await left
  expect(commit).toMatchObject({ status: 'rejected', reason: { message: 'nothing was committed: the member stops' } })
})

test('a member that KafkaJS has ended is paused and resumed without an error, because its crash may not be reported yet', async () => {
  const { on, reader } = await setting()
  await reader.close()
  const partitions = [{ topic: on.topic, partition: 0 }]
  expect(() => reader.member.pause(partitions)).not.toThrow()
  expect(() => reader.member.resume(partitions)).not.toThrow()
})

test('the end of a batch without records is reported from its fetch offset, also when compaction has removed earlier records', async () => {
  const ends = new Set<string>()
  const { kafka, on } = await setting({ onBatchEnd: (_at, from, last) => ends.add(`${from} to ${last}`) })
  for (const isOpen of [true, false]) kafka.topics.setTransaction(on.topic, isOpen)
  kafka.compact(on.topic)
  await eventually(() => ends.size > 0)
  expect([...ends]).toEqual(['0 to 1'])
})
