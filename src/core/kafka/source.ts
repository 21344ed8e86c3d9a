import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type ITopicConfig, type Kafka } from 'kafkajs'
import { toOffset } from '../model/ids.ts'
import {
  type GroupMember,
  type GroupOptions,
  groupMember,
  type PartitionCommit,
  partitionsIn,
} from './consumerGroup.ts'
import { offsetsAfter, type PartitionTime } from './offsetsAfter.ts'
import { type ReadOptions, readTopic } from './readTopic.ts'
import { partitionName, type TopicPartition } from './sourceRecord.ts'

const leaderDeadlineMs = 10_000
const leaderCheckMs = 100

/** `high`: the log end offset. */
export type OffsetRange = { readonly low: bigint; readonly high: bigint }
/** By `partitionName`. */
export type OffsetRanges = ReadonlyMap<string, OffsetRange & TopicPartition>

type TopicSettings = Readonly<Record<string, string | number>>
export type NewTopic = { readonly topic: string; readonly partitions: number; readonly settings: TopicSettings }

/** Throws if Kafka has not returned the setting. */
export type ReadSetting = (topic: string, name: string) => string

/** During a rebalance, no member has partitions. */
export type DescribedMember = {
  readonly id: string
  readonly host: string
  readonly partitions: readonly TopicPartition[]
}

/** Requests reject if no broker answers. */
export interface KafkaSource {
  readonly ping: () => Promise<void>
  readonly createMissingTopics: (topics: readonly NewTopic[]) => Promise<void>
  readonly topicSettings: (topics: readonly string[], names: readonly string[]) => Promise<ReadSetting>
  readonly offsetRanges: (topics: readonly string[]) => Promise<OffsetRanges>
  readonly offsetsAfter: (times: readonly PartitionTime[]) => Promise<Map<string, bigint>>
  /** The next request fetches the leader of each partition anew. */
  readonly forgetLeaders: () => void
  /** Leaves out partitions without a commit. */
  readonly committedOffsets: (groupId: string, topics: readonly string[]) => Promise<PartitionCommit[]>
  readonly groupMembers: (groupId: string) => Promise<DescribedMember[]>
  readonly groupMember: (options: GroupOptions) => GroupMember
  readonly readTopic: (options: ReadOptions) => Promise<void>
  readonly close: () => Promise<void>
}

type Connection = { readonly admin: Admin; requests: number }

/** Admin requests share one connection, until a failure or `forgetLeaders`. */
export function kafkaSource(kafka: Kafka): KafkaSource {
  let current: Connection | undefined
  const disconnect = ({ admin }: Connection): void => {
    admin.disconnect().catch(() => undefined)
  }
  /**
   * Abandons the shared connection if the request fails: KafkaJS caches metadata for each connection. With it, later requests would go to former leaders for
   * five minutes, and would fail once a topic of an earlier request is deleted.
   */
  const send = async <Answer>(request: (admin: Admin) => Promise<Answer>): Promise<Answer> => {
    current ??= { admin: kafka.admin(), requests: 0 }
    const connection = current
    connection.requests++
    try {
      await connection.admin.connect()
      return await request(connection.admin)
    } catch (error) {
      if (current === connection) current = undefined
      throw error
    } finally {
      connection.requests--
      if (current !== connection && connection.requests === 0) disconnect(connection)
    }
  }
  return {
    ping: async () => {
      await send((admin) => admin.describeCluster())
    },
    createMissingTopics: (topics) => send((admin) => createMissingTopics(admin, topics)),
    topicSettings: (topics, names) => send((admin) => topicSettings(admin, topics, [...names])),
    offsetRanges: (topics) => send((admin) => offsetRanges(admin, topics)),
    offsetsAfter: (times) => offsetsAfter(kafka, times),
    forgetLeaders: () => {
      if (current?.requests === 0) disconnect(current)
      current = undefined
    },
    committedOffsets: async (groupId, topics) =>
      commitsIn(await send((admin) => admin.fetchOffsets({ groupId, topics: [...topics] }))),
    groupMembers: async (groupId) => {
      const { groups } = await send((admin) => admin.describeGroups([groupId]))
      const { decode } = kafkajs.AssignerProtocol.MemberAssignment
      const members = groups.flatMap((group) => group.members)
      return members.map(({ memberId: id, clientHost, memberAssignment }) => {
        return {
          id,
          host: clientHost.replace(/^.*\//, ''),
          partitions: partitionsIn(decode(memberAssignment)?.assignment ?? {}),
        }
      })
    },
    groupMember: (options) => groupMember(kafka, options),
    readTopic: (options) => readTopic(kafka, options),
    close: async () => {
      await current?.admin.disconnect()
    },
  }
}

/** KafkaJS ignores that another process has created a topic by now. */
async function createMissingTopics(admin: Admin, topics: readonly NewTopic[]): Promise<void> {
  const existing = new Set(await admin.listTopics())
  const missing = topics.filter(({ topic }) => !existing.has(topic))
  await createTopics(
    admin,
    missing.map(({ topic, partitions, settings }) => ({
      topic,
      numPartitions: partitions,
      replicationFactor: -1,
      configEntries: Object.entries(settings).map(([name, value]) => ({ name, value: String(value) })),
    })),
  )
}

/** Waits up to ten seconds until every partition has a leader. `waitForLeaders` of KafkaJS would fail, because a broker does not report new topics at once. */
export async function createTopics(admin: Admin, topics: ITopicConfig[]): Promise<void> {
  if (topics.length === 0) return
  await admin.createTopics({ topics, waitForLeaders: false })
  const endsAtMs = performance.now() + leaderDeadlineMs
  for (;;)
    try {
      await admin.fetchTopicMetadata({ topics: topics.map(({ topic }) => topic) })
      return
    } catch (error) {
      if (performance.now() > endsAtMs) throw error
      await sleep(leaderCheckMs)
    }
}

async function topicSettings(admin: Admin, topics: readonly string[], configNames: string[]): Promise<ReadSetting> {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames })),
  })
  return (topic, name) => {
    const settings = resources.find(({ resourceName }) => resourceName === topic)?.configEntries
    const value = settings?.find(({ configName }) => configName === name)?.configValue
    if (value == null) throw new Error(`Kafka does not return ${name} of ${topic}`)
    return value
  }
}

async function offsetRanges(admin: Admin, topics: readonly string[]): Promise<OffsetRanges> {
  const ofTopics = topics.map(async (topic) => {
    const offsets = await admin.fetchTopicOffsets(topic)
    return offsets.map(({ partition, low, high }) => ({ topic, partition, low: BigInt(low), high: BigInt(high) }))
  })
  const ranges = (await Promise.all(ofTopics)).flat()
  return new Map(ranges.map((range) => [partitionName(range), range]))
}

const commitsIn = (offsets: Awaited<ReturnType<Admin['fetchOffsets']>>): PartitionCommit[] =>
  offsets.flatMap(({ topic, partitions }) =>
    partitions.flatMap(({ partition, offset, metadata }) => {
      const position = toOffset(offset)
      // -1: no commit.
      return position < 0n ? [] : [{ topic, partition, position, metadata: metadata ?? '' }]
    }),
  )
