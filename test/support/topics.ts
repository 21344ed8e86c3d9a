import kafkajs, { type Admin, type Kafka } from 'kafkajs'
// For its patch of KafkaJS, which reads every codec.
import '../../src/core/kafka/client.ts'
import { readTopic } from '../../src/core/kafka/readTopic.ts'
import { createTopics } from '../../src/core/kafka/source.ts'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { eventually } from './eventually.ts'
import type { Pipeline } from './pipeline.ts'

const readDeadlineMs = 30_000

export async function withAdmin<T>(kafka: Kafka, ask: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin()
  await admin.connect()
  try {
    return await ask(admin)
  } finally {
    await admin.disconnect()
  }
}

const appended = { 'cleanup.policy': 'compact', 'message.timestamp.type': 'LogAppendTime' }

/** Creates topics as an indexer would, but with so many partitions, and with these settings besides or instead. */
export async function createTopicsWith(
  kafka: Kafka,
  names: readonly (string | undefined)[],
  numPartitions: number,
  settings: Readonly<Record<string, string>> = {},
): Promise<void> {
  const configEntries = Object.entries({ ...appended, ...settings }).map(([name, value]) => ({ name, value }))
  const topics = names.map((topic = '') => ({ topic, numPartitions, configEntries }))
  await withAdmin(kafka, (admin) => createTopics(admin, topics))
}

export const documentTopics = ({ names }: Pipeline): readonly [forms: string, submissions: string] => [
  names.TOPIC_FORMS,
  names.TOPIC_SUBMISSIONS,
]

/** Deletes every record of a topic and waits until it is empty; its `cleanup.policy` is then `policy`. */
export async function deleteRecords(admin: Admin, topic: string, policy = 'compact'): Promise<void> {
  const ends = await admin.fetchTopicOffsets(topic)
  const partitions = ends.map(({ partition, high }) => ({ partition, offset: high }))
  // Kafka does not delete records of a topic that is only compacted. A log learns its new policy after the change was accepted.
  await setPolicy(admin, topic, 'compact,delete')
  await eventually(async () => {
    try {
      await admin.deleteTopicRecords({ topic, partitions })
    } catch (error) {
      if ((error as Error).cause instanceof kafkajs.KafkaJSDeleteTopicRecordsError) return false
      throw error
    }
    return (await admin.fetchTopicOffsets(topic)).every(({ low, high }) => low === high)
  })
  await setPolicy(admin, topic, policy)
}

/** Sets the cleanup.policy of a topic, and whose time its records carry. */
export const setPolicy = (admin: Admin, topic: string, policy: string, times = 'LogAppendTime'): Promise<void> =>
  alterTopic(admin, topic, { 'cleanup.policy': policy, 'message.timestamp.type': times })

/** Replaces the settings of a topic. */
export async function alterTopic(admin: Admin, topic: string, settings: Readonly<Record<string, string>>) {
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }))
  const resources = [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configEntries }]
  await admin.alterConfigs({ validateOnly: false, resources })
}

/** The present records of a topic, of these keys or of all, without aborted ones. */
export async function recordsOf(kafka: Kafka, topic: string, keys?: readonly string[]): Promise<SourceRecord[]> {
  const records: SourceRecord[] = []
  await readTopic(kafka, {
    topic,
    signal: AbortSignal.timeout(readDeadlineMs),
    onRecord: async (record) => {
      if (keys === undefined || keys.includes(String(record.key))) records.push(record)
    },
  })
  return records
}
