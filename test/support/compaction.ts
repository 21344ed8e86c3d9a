import kafkajs, { type Admin } from 'kafkajs'
import { eventually } from './eventually.ts'
import type { Pipeline } from './pipeline.ts'
import type { HistoryRecord } from './randomHistory.ts'
import { createTopicsWith, withAdmin } from './topics.ts'

/** The key of an entity that never existed, whose deletions make Kafka begin new segments without other effect. */
export const fillerKey = Buffer.from('acme/filler')

/** Topic settings for compaction within seconds: short segments, because Kafka never compacts the active one. */
const settings = { 'segment.ms': '100', 'segment.bytes': '1048576', 'min.cleanable.dirty.ratio': '0' }

/** Deletion retention for topics that no indexer reads: with one this short, indexers withhold the watermark. */
export const shortRetentionMs = 10_000

export async function createCompactedTopics(
  { kafka }: Pick<Pipeline, 'kafka'>,
  topics: readonly string[],
  numPartitions: number,
  deleteRetentionMs = 0,
): Promise<void> {
  const all = { ...settings, 'delete.retention.ms': String(deleteRetentionMs) }
  await createTopicsWith(kafka, topics, numPartitions, all)
  await withAdmin(kafka, hurryCleaner)
}

/** Shortens the backoff of Kafka's log cleaner, by default 15 s. */
export async function hurryCleaner(admin: Admin): Promise<void> {
  const { brokers } = await admin.describeCluster()
  const configEntries = [{ name: 'log.cleaner.backoff.ms', value: '200' }]
  const resources = brokers.map(({ nodeId }) => ({
    type: kafkajs.ConfigResourceTypes.BROKER,
    name: String(nodeId),
    configEntries,
  }))
  await admin.alterConfigs({ validateOnly: false, resources })
}

/** Appends deletions of `fillerKey` to every partition until compaction has made `isGone` true. */
export async function untilCompacted<Topic extends HistoryRecord['topic'] | 'account-keys'>(
  pipeline: Pipeline,
  topic: Topic,
  name: string,
  isGone: (admin: Admin) => Promise<boolean>,
): Promise<Omit<HistoryRecord, 'topic'> & { readonly topic: Topic }> {
  await withAdmin(pipeline.kafka, async (admin) => {
    const partitions = (await admin.fetchTopicOffsets(name)).map(({ partition }) => partition)
    await eventually(async () => {
      await pipeline.produce(
        topic,
        partitions.map((partition) => ({ partition, key: fillerKey, value: null })),
      )
      return await isGone(admin)
    })
  })
  return { topic, key: fillerKey, value: null }
}
