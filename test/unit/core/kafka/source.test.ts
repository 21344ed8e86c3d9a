import type { Kafka } from 'kafkajs'
import { kafkaSource } from '../../../../src/core/kafka/source.ts'

test('a failed request leaves other pending requests of the source alone', async () => {
  const answer = Promise.withResolvers<void>()
  const disconnected: number[] = []
  let connections = 0
  const admin = () => {
    const number = ++connections
    return {
      connect: async () => undefined,
      describeCluster: () => answer.promise,
      describeGroups: () => Promise.reject(new Error('the coordinator is gone')),
      disconnect: async () => void disconnected.push(number),
    }
  }
  const source = kafkaSource({ admin } as unknown as Kafka)
  const ping = source.ping()
  await expect(source.groupMembers('group')).rejects.toThrow('the coordinator is gone')
  expect(disconnected).toEqual([])
  answer.resolve()
  await ping
  expect(disconnected).toEqual([1])
  await source.ping()
  expect([connections, disconnected]).toEqual([2, [1]])
})
