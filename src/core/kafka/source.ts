import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs, { type Admin, type ITopicConfig, type Kafka } from 'kafkajs'
import { toOffset } from '../model/ids.ts'
import { type GroupOptions, groupMember, type PartitionCommit, partitionsIn } from './consumerGroup.ts'
import { offsetsAfter, type PartitionTime } from './offsetsAfter.ts'
import { type ReadOptions, readTopic } from './readTopic.ts'
import { partitionName, type TopicPartition } from './sourceRecord.ts'

const leadersMs = 10_000
const leaderCheckMs = 100

/** The first offset of a partition, and its log end offset. */
export type OffsetRange = { readonly low: bigint; readonly high: bigint }
/** By `partitionName`. */
export type OffsetRanges = ReadonlyMap<string, OffsetRange & TopicPartition>

/** Kafka's names of settings → values. */
type TopicSettings = Readonly<Record<string, string | number>>
export type NewTopic = { readonly topic: string; readonly partitions: number; readonly settings: TopicSettings }

export type KafkaSource = ReturnType<typeof kafkaSource>

/** Reads Kafka. All admin requests share one connection, which the first request opens. */
export function kafkaSource(kafka: Kafka) {
  let current: { readonly admin: Admin; questions: number } | undefined
  const disconnect = ({ admin }: { readonly admin: Admin }): void => void admin.disconnect().catch(() => undefined)
  /**
   * Replaces the connection after any failure, because KafkaJS keeps stale metadata: for five minutes it asks former leaders, even if
   * gone, and every request includes the topics of earlier ones, even if missing.
   */
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
      // Other requests on the replaced connection may still be pending.
      if (current !== connection && connection.questions === 0) disconnect(connection)
    }
  }
  return {
    /** Rejects when no broker answers. */
    ping: async (): Promise<void> => void (await ask((admin) => admin.describeCluster())),
    createMissingTopics: (topics: readonly NewTopic[]) => ask((admin) => createMissingTopics(admin, topics)),
    topicSettings: (topics: readonly string[], names: readonly string[]) =>
      ask((admin) => topicSettings(admin, topics, [...names])),
    /** The offset range of every partition of the topics. */
    offsetRanges: (topics: readonly string[]) => ask((admin) => offsetRanges(admin, topics)),
    /** The first offset of each partition at which a record was appended after a time (`offsetsAfter.ts`). */
    offsetsAfter: (times: readonly PartitionTime[]) => offsetsAfter(kafka, times),
    /** Lets the next question learn anew who leads each partition. */
    forgetLeaders: (): void => {
      if (current?.questions === 0) disconnect(current)
      current = undefined
    },
    /** The committed offsets of a group, of partitions that have one. */
    committedOffsets: async (groupId: string, topics: readonly string[]): Promise<PartitionCommit[]> => {
      return commitsIn(await ask((admin) => admin.fetchOffsets({ groupId, topics: [...topics] })))
    },
    /** The assigned partitions of each member of a group. */
    groupMembers: async (groupId: string): Promise<TopicPartition[][]> => {
      const { groups } = await ask((admin) => admin.describeGroups([groupId]))
      const { decode } = kafkajs.AssignerProtocol.MemberAssignment
      const members = groups.flatMap((group) => group.members)
      return members.map(({ memberAssignment }) => partitionsIn(decode(memberAssignment)?.assignment ?? {}))
    },
    groupMember: (options: GroupOptions) => groupMember(kafka, options),
    readTopic: (options: ReadOptions): Promise<void> => readTopic(kafka, options),
    close: async (): Promise<void> => {
      await current?.admin.disconnect()
    },
  }
}

/** Creates the topics that do not exist. Safe for several processes at once. */
async function createMissingTopics(admin: Admin, topics: readonly NewTopic[]): Promise<void> {
  const existing = new Set(await admin.listTopics())
  const missing = topics.filter(({ topic }) => !existing.has(topic))
  const asKafkaJs = missing.map(({ topic, partitions, settings }) => ({
    topic,
    numPartitions: partitions,
    replicationFactor: -1,
    configEntries: Object.entries(settings).map(([name, value]) => ({ name, value: String(value) })),
  }))
  await createTopics(admin, asKafkaJs)
}

/**
 * Creates topics, then waits up to ten seconds until every partition has a leader. `waitForLeaders` of KafkaJS fails while the broker
 * does not know the topics yet, which is usual for a moment.
 */
export async function createTopics(admin: Admin, topics: ITopicConfig[]): Promise<void> {
  if (topics.length === 0) return
  await admin.createTopics({ topics, waitForLeaders: false })
  const endsAtMs = performance.now() + leadersMs
  for (;;)
    try {
      // Also rejects while a partition has no leader.
      await admin.fetchTopicMetadata({ topics: topics.map(({ topic }) => topic) })
      return
    } catch (error) {
      if (performance.now() > endsAtMs) throw error
      await sleep(leaderCheckMs)
    }
}

/** Reads settings of topics. What is returned throws for one that Kafka does not tell: what is not known is not judged. */
async function topicSettings(admin: Admin, topics: readonly string[], configNames: string[]) {
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: topics.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames })),
  })
  return (topic: string, name: string): string => {
    const settings = resources.find(({ resourceName }) => resourceName === topic)?.configEntries
    const value = settings?.find(({ configName }) => configName === name)?.configValue
    if (value == null) throw new Error(`Kafka does not tell ${name} of ${topic}`)
    return value
  }
}

async function offsetRanges(admin: Admin, topics: readonly string[]): Promise<OffsetRanges> {
  const ofTopics = topics.map(async (topic) =>
    (await admin.fetchTopicOffsets(topic)).map(({ partition, low, high }) => {
      return [partitionName({ topic, partition }), { topic, partition, low: BigInt(low), high: BigInt(high) }] as const
    }),
  )
  return new Map((await Promise.all(ofTopics)).flat())
}

const commitsIn = (offsets: Awaited<ReturnType<Admin['fetchOffsets']>>): PartitionCommit[] =>
  offsets.flatMap(({ topic, partitions }) =>
    partitions.flatMap(({ partition, offset, metadata }) => {
      const position = toOffset(offset)
      // Kafka returns -1 where nothing is committed.
      return position < 0n ? [] : [{ topic, partition, position, metadata: metadata ?? '' }]
    }),
  )
