import { SimulatedKafka } from '../../../simulation/engines/kafka/simulatedKafka.ts'
import { localHost, localNetwork, type Network, NetworkFailure } from '../../../simulation/network.ts'
import { closing } from '../../../support/closing.ts'
import { eventually } from '../../../support/eventually.ts'
import { TopicUnderTest } from '../../../support/topicUnderTest.ts'

const closed = closing()

/** A group of one member that has all partitions of a topic, and a network that loses the connection when the member asks `losing`. */
async function setting() {
  const losing = new Set<string>()
  const network: Network = {
    call: (engine, what, work, options) => {
      if (!losing.delete(what)) return localNetwork.call(engine, what, work, options)
      return Promise.reject(new NetworkFailure('unreachable', what))
    },
  }
  const kafka = new SimulatedKafka(localHost())
  const on = closed(new TopicUnderTest(kafka.client(network)))
  kafka.topics.create({ topic: on.topic, partitions: 2, settings: {} })
  const reader = on.startReader()
  await eventually(async () => reader.assigned().length === 2)
  return { kafka, on, reader, losing }
}

test.each<[string, (kafka: SimulatedKafka, on: TopicUnderTest) => void]>([
  ['the coordinator has forgotten it', (kafka, { groupId }) => kafka.group(groupId).endSessions()],
  ['a partition was added', (kafka, { topic }) => kafka.topics.addPartition(topic)],
  ['its group rebalances', (kafka, { groupId }) => kafka.group(groupId).rebalance()],
])('a member that joins again because %s, and does not learn its assignment, has none', async (_why, happen) => {
  const { kafka, on, reader, losing } = await setting()
  losing.add('SyncGroup')
  happen(kafka, on)
  await expect(reader.ended).rejects.toThrow()
  expect(reader.assigned()).toEqual([])
})
