import type { Kafka } from 'kafkajs'
import { kafkaSource } from '../../../../src/core/kafka/source.ts'

test('a question that fails leaves those alone that still wait for their answers', async () => {
  const answer = Promise.withResolvers<void>()
  const disconnected: number[] = []
  let connections = 0
  const kafka = {
    admin: () => {
      const number = ++connections
      return {
        connect: async () => undefined,
        describeCluster: () => answer.promise,
        describeGroups: async () => {
          throw new Error('the coordinator is gone')
        },
        disconnect: async () => void disconnected.push(number),
      }
    },
  } as unknown as Kafka
  const source = kafkaSource(kafka)
  const ping = source.ping()
  await expect(source.groupMembers('group')).rejects.toThrow('the coordinator is gone')
  expect(disconnected).toEqual([])
  answer.resolve()
  await ping
  expect(disconnected).toEqual([1])
  await source.ping()
  expect([connections, disconnected]).toEqual([2, [1]])
})
