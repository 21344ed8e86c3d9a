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
import { type ReadOptions, readTopic } from './readTopic.ts'
import { partitionName, type TopicPartition } from './sourceRecord.ts'

const leadersMs = 10_000
const leaderCheckMs = 100

/** The first offset of a partition, and the offset after its last record. */
export type OffsetRange = { readonly low: bigint; readonly high: bigint }

/** The settings of a topic, by their names in Kafka. */
type TopicSettings = Readonly<Record<string, string | number>>

export type NewTopic = { readonly topic: string; readonly partitions: number; readonly settings: TopicSettings }

/** Kafka as the product reads it. Every call connects first, when there is no connection. */
export type KafkaSource = {
  /** Rejects when no broker answers. */
  ping(): Promise<void>
  /** Creates the topics that do not exist. Safe to call from several processes at once. */
  createMissingTopics(topics: readonly NewTopic[]): Promise<void>
  /** The values of `names` among the settings of each topic. */
  topicSettings(topics: readonly string[], names: readonly string[]): Promise<ReadonlyMap<string, TopicSettings>>
  /** The offset range of every partition of the topics, by `partitionName`. */
  offsetRanges(topics: readonly string[]): Promise<ReadonlyMap<string, OffsetRange & TopicPartition>>
  /** What a group has committed for the topics. */
  committedOffsets(groupId: string, topics: readonly string[]): Promise<readonly PartitionCommit[]>
  /** The partitions of each member of a group. */
  groupMembers(groupId: string): Promise<readonly (readonly TopicPartition[])[]>
  /** Creates a member of a group, which joins by `run`. */
  groupMember(options: GroupOptions): GroupMember
  /** Reads a topic from its beginning to its present end. */
  readTopic(options: ReadOptions): Promise<void>
  close(): Promise<void>
}

/**
 * A source of its own connection for everything but the reading. KafkaJS asks for every topic that a connection was ever asked for,
 * and fails as long as one of them is missing.
 */
export function kafkaSource(kafka: Kafka): KafkaSource {
  let current: { readonly admin: Admin; questions: number } | undefined
  /** A new connection after every failure: KafkaJS asks the leaders of before for five minutes, also when they are gone. */
  const ask = async <Answer>(question: (admin: Admin) => Promise<Answer>): Promise<Answer> => {
    current ??= { admin: kafka.admin(), questions: 0 }
    const connection = current
    connection.questions++
    try {
      await connection.admin.connect()
      return await question(connection.admin)
    } catch (error) {
      if (current === connection) current = undefined
      throw error
    } finally {
      connection.questions--
      // Others may still wait for their answers.
      if (current !== connection && connection.questions === 0) connection.admin.disconnect().catch(() => undefined)
    }
  }
  return {
    ping: async () => {
      await ask((admin) => admin.describeCluster())
    },
    createMissingTopics: (topics) => ask((admin) => createMissingTopics(admin, topics)),
    topicSettings: (topics, names) => ask((admin) => topicSettings(admin, topics, names)),
    offsetRanges: (topics) => ask((admin) => offsetRanges(admin, topics)),
    committedOffsets: (groupId, topics) => ask((admin) => committedOffsets(admin, groupId, topics)),
    groupMembers: (groupId) => ask((admin) => groupMembers(admin, groupId)),
    groupMember: (options) => groupMember(kafka, options),
    readTopic: (options) => readTopic(kafka, options),
    close: async () => {
      await current?.admin.disconnect()
    },
  }
}

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

/**
 * Creates topics and waits until every partition has a leader, for ten seconds at most. KafkaJS's own `waitForLeaders` fails when
 * the broker does not know the topics yet, which is usual for a moment after they were created.
 */
export async function createTopics(admin: Admin, topics: ITopicConfig[]): Promise<void> {
  if (topics.length === 0) return
  await admin.createTopics({ topics, waitForLeaders: false })
  const names = topics.map(({ topic }) => topic)
  for (let waitedMs = 0; !(await haveLeaders(admin, names)); waitedMs += leaderCheckMs) {
    if (waitedMs >= leadersMs)
      throw new kafkajs.KafkaJSError(`no leader yet for every partition of ${names.join(', ')}`)
    await sleep(leaderCheckMs)
  }
}

async function haveLeaders(admin: Admin, names: string[]): Promise<boolean> {
  try {
    const { topics } = await admin.fetchTopicMetadata({ topics: names })
    return topics.every(({ partitions }) => partitions.length > 0 && partitions.every(({ leader }) => leader >= 0))
  } catch (error) {
    if (!(error instanceof kafkajs.KafkaJSProtocolError)) throw error
    if (error.type !== 'UNKNOWN_TOPIC_OR_PARTITION' && error.type !== 'LEADER_NOT_AVAILABLE') throw error
    return false
  }
}

async function topicSettings(
  admin: Admin,
  topics: readonly string[],
  names: readonly string[],
): ReturnType<KafkaSource['topicSettings']> {
  const configNames = [...names]
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames })),
  })
  return new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      Object.fromEntries(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  )
}

async function offsetRanges(admin: Admin, topics: readonly string[]): ReturnType<KafkaSource['offsetRanges']> {
  const ranges = new Map<string, OffsetRange & TopicPartition>()
  for (const topic of topics)
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
      ranges.set(partitionName({ topic, partition }), { topic, partition, low: BigInt(low), high: BigInt(high) })
  return ranges
}

async function committedOffsets(admin: Admin, groupId: string, topics: readonly string[]): Promise<PartitionCommit[]> {
  const found = await admin.fetchOffsets({ groupId, topics: [...topics] })
  return found.flatMap(({ topic, partitions }) =>
    partitions
      // Kafka answers with -1 where nothing is committed.
      .filter(({ offset }) => !offset.startsWith('-'))
      .map(({ partition, offset, metadata }) => ({
        topic,
        partition,
        position: toOffset(offset),
        metadata: metadata ?? '',
      })),
  )
}

async function groupMembers(admin: Admin, groupId: string): Promise<TopicPartition[][]> {
  const { groups } = await admin.describeGroups([groupId])
  return groups
    .flatMap(({ members }) => members)
    .map(({ memberAssignment }) => {
      const decoded = kafkajs.AssignerProtocol.MemberAssignment.decode(memberAssignment)
      return partitionsIn(decoded?.assignment ?? {})
    })
}
