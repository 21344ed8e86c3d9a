import type { FetchedRecord } from '../../../../src/core/kafka/recordBatches.ts'
import { partitionName, type TopicPartition } from '../../../../src/core/kafka/sourceRecord.ts'
import type { Host } from '../../network.ts'
import { Coordinator } from './coordinator.ts'
import { type ErrorCode, refusal } from './group.ts'
import type { SentRecord } from './partitionLog.ts'
import { type ByTopic, onlyLeader, Topics } from './topics.ts'

type ProduceRequest = { readonly topicData: ByTopic<{ readonly messages: readonly SentRecord[] }> }
type FetchRequest = { readonly maxWaitTime: number; readonly topics: ByTopic<{ readonly fetchOffset: string }> }
type ListOffsetsRequest = { readonly isolationLevel: number; readonly topics: ByTopic<{ readonly timestamp: number }> }
type CreateTopicsRequest = {
  readonly topics: readonly {
    readonly topic: string
    readonly numPartitions: number
    readonly configEntries?: readonly { readonly name: string; readonly value: string }[]
  }[]
}
type DescribeConfigsRequest = {
  readonly resources: readonly { readonly type: number; readonly name: string; readonly configNames: string[] }[]
}
type PartitionAnswer = {
  readonly partition: number
  readonly errorCode: ErrorCode
  readonly highWatermark: string
  readonly lastStableOffset: string
  readonly abortedTransactions: readonly []
  readonly messages: readonly FetchedRecord[]
}

const earliest = -2
const readCommitted = 1

/** The address of the only broker. */
export const address = { host: 'simulated-kafka', port: 9092 }

/** The only broker: leads every partition, coordinates every group. Returns responses as KafkaJS decodes them. */
export class Broker {
  readonly topics: Topics
  readonly coordinator: Coordinator
  readonly #host: Host

  constructor(host: Host) {
    this.#host = host
    this.topics = new Topics(host)
    this.coordinator = new Coordinator(host, this.topics)
  }

  /** Answers a request of KafkaJS; `apiName`: its name in the protocol. */
  answer(apiName: string, request: unknown): unknown {
    switch (apiName) {
      case 'Metadata':
        return this.#metadata(request as { topics: readonly string[] })
      case 'CreateTopics':
        return this.#createTopics(request as CreateTopicsRequest)
      case 'DescribeConfigs':
        return this.#describeConfigs(request as DescribeConfigsRequest)
      case 'Produce':
        return this.#produce(request as ProduceRequest)
      case 'Fetch':
        return this.#fetch(request as FetchRequest)
      case 'ListOffsets':
        return this.#listOffsets(request as ListOffsetsRequest)
      case 'GroupCoordinator':
        return { errorCode: refusal.none, coordinator: { nodeId: onlyLeader.leader, ...address } }
      default:
        return this.coordinator.answer(apiName, request)
    }
  }

  #metadata({ topics }: { readonly topics: readonly string[] }): unknown {
    const names = topics.length === 0 ? this.topics.names() : topics
    return {
      brokers: [{ nodeId: onlyLeader.leader, ...address, rack: null }],
      clusterId: 'simulated',
      controllerId: onlyLeader.leader,
      topicMetadata: names.toSorted().map((topic) => ({
        topic,
        topicErrorCode: this.topics.has(topic) ? refusal.none : refusal.unknownTopicOrPartition,
        partitionMetadata: this.topics.partitions(topic).map((_, partitionId) => ({ ...onlyLeader, partitionId })),
      })),
    }
  }

  #createTopics({ topics }: CreateTopicsRequest): unknown {
    const topicErrors = topics.map(({ topic, numPartitions, configEntries = [] }) => {
      if (this.topics.has(topic)) return { topic, errorCode: refusal.topicAlreadyExists }
      const settings = Object.fromEntries(configEntries.map(({ name, value }) => [name, value]))
      this.topics.create({ topic, partitions: numPartitions, settings })
      return { topic, errorCode: refusal.none }
    })
    return { topicErrors }
  }

  #describeConfigs({ resources }: DescribeConfigsRequest): unknown {
    return {
      resources: resources.map(({ type, name, configNames }) => {
        const resource = { resourceType: type, resourceName: name }
        if (!this.topics.has(name))
          return { ...resource, errorCode: refusal.unknownTopicOrPartition, configEntries: [] }
        const settings = this.topics.settings(name)
        const configEntries = configNames
          .filter((configName) => configName in settings)
          .map((configName) => ({ configName, configValue: settings[configName] }))
        return { ...resource, errorCode: refusal.none, configEntries }
      }),
    }
  }

  #produce({ topicData }: ProduceRequest): unknown {
    const topics = topicData.map(({ topic, partitions }) => ({
      topicName: topic,
      partitions: partitions.map(({ partition, messages }) => {
        const isKnown = this.topics.find({ topic, partition }) !== undefined
        const errorCode = isKnown ? refusal.none : refusal.unknownTopicOrPartition
        const appended = isKnown ? messages.map((message) => this.topics.append({ topic, partition }, message)) : []
        return { partition, errorCode, baseOffset: String(appended[0]?.offset ?? -1) }
      }),
    }))
    return { topics, throttleTime: 0 }
  }

  #fetch({ maxWaitTime, topics }: FetchRequest): unknown {
    // A real broker may fill the response beginning with any partition.
    const wanted = partitionsOf(topics)
      .toSorted((a, b) => (partitionName(a) < partitionName(b) ? -1 : 1))
      .map((partition) => ({ partition, turn: this.#host.random() }))
      .toSorted((a, b) => a.turn - b.turn)
      .map(({ partition }) => partition)
    const isReady = (): boolean => wanted.some((partition) => this.#hasNews(partition))
    const answer = (): unknown => ({
      responses: wanted.map((partition) => ({ topicName: partition.topic, partitions: [this.#read(partition)] })),
    })
    if (isReady()) return answer()
    const { promise, resolve } = Promise.withResolvers<unknown>()
    const finish = (): void => {
      stopWaiting()
      stopListening()
      resolve(answer())
    }
    const stopWaiting = this.#host.after(maxWaitTime, 'a fetch has waited', finish)
    const stopListening = this.topics.onAppend(() => {
      if (isReady()) finish()
    })
    return promise
  }

  /** Whether a fetch is answered at once, with records or an error. */
  #hasNews(wanted: TopicPartition & { readonly fetchOffset: string }): boolean {
    return this.topics.find(wanted)?.stable !== BigInt(wanted.fetchOffset)
  }

  #read(wanted: TopicPartition & { readonly fetchOffset: string }): PartitionAnswer {
    const log = this.topics.find(wanted)
    const offset = BigInt(wanted.fetchOffset)
    const nothing = { partition: wanted.partition, abortedTransactions: [], messages: [] } as const
    const offsets = { highWatermark: String(log?.high ?? -1), lastStableOffset: String(log?.stable ?? -1) }
    if (log === undefined) return { ...nothing, ...offsets, errorCode: refusal.unknownTopicOrPartition }
    if (offset < log.low || offset > log.high) return { ...nothing, ...offsets, errorCode: refusal.offsetOutOfRange }
    // `maxBytes` may cut a response off anywhere.
    const count = Math.ceil((1 - this.#host.random()) * log.countFrom(offset))
    return { ...nothing, ...offsets, errorCode: refusal.none, messages: log.fetch(offset, count) }
  }

  #listOffsets({ isolationLevel, topics }: ListOffsetsRequest): unknown {
    const responses = topics.map(({ topic, partitions }) => ({
      topic,
      partitions: partitions.map(({ partition, timestamp }) => {
        const log = this.topics.find({ topic, partition })
        const errorCode = log === undefined ? refusal.unknownTopicOrPartition : refusal.none
        const end = isolationLevel === readCommitted ? log?.stable : log?.high
        const wanted = Number(timestamp)
        if (wanted >= 0) return { partition, errorCode, offset: String(log?.firstNotBefore(wanted) ?? -1) }
        return { partition, errorCode, offset: String(wanted === earliest ? log?.low : end) }
      }),
    }))
    return { responses }
  }
}

const partitionsOf = <Each>(topics: ByTopic<Each>): (TopicPartition & Each)[] =>
  topics.flatMap(({ topic, partitions }) => partitions.map((partition) => ({ topic, ...partition })))
