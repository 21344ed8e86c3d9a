import type { Kafka } from 'kafkajs'
import type { FetchedRecord } from './recordBatches.ts'

export type FetchAnswer = {
  readonly partition: number
  readonly lastStableOffset: string
  readonly messages: readonly FetchedRecord[]
}

type OffsetRequest = { readonly partition: number; readonly timestamp: number }

/** Private API of KafkaJS 2.2.4. The public API cannot read without a group, nor request offsets for a different time of each partition. */
export type Cluster = {
  /** Repeats `attempt` after errors that may pass, until `bail`. */
  retrier<Answer>(attempt: (bail: (error: unknown) => never) => Promise<Answer>): Promise<Answer>
  addTargetTopic(topic: string): Promise<void>
  refreshMetadata(): Promise<void>
  findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>>
  findBroker(node: { readonly nodeId: string }): Promise<Broker>
  disconnect(): Promise<void>
}

type Broker = {
  fetch(request: object): Promise<{ readonly responses: readonly { readonly partitions: readonly FetchAnswer[] }[] }>
  /** The first offset whose timestamp is at least `timestamp` (epoch ms), or -1. Rejects if the broker does not lead a partition. */
  listOffsets(request: {
    readonly topics: readonly { readonly topic: string; readonly partitions: readonly OffsetRequest[] }[]
  }): Promise<{
    readonly responses: readonly {
      readonly topic: string
      readonly partitions: readonly { readonly partition: number; readonly offset: string }[]
    }[]
  }>
}

export function createCluster(kafka: Kafka): Cluster {
  const members = kafka as unknown as Record<symbol, ((options: object) => Cluster) | undefined>
  const symbols = Object.getOwnPropertySymbols(kafka)
  const name = symbols.find(({ description }) => description === 'private:Kafka:createCluster')
  const create = name && members[name]
  if (create === undefined) throw new Error('this release of KafkaJS has no createCluster')
  return create({ allowAutoTopicCreation: false })
}
