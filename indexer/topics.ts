import kafkajs, { type Admin, type IResourceConfigEntry } from 'kafkajs'
import type { Logger } from 'pino'
import type { Config } from '../src/core/process/config.ts'
import { createTopics } from '../src/core/stores/topics.ts'

const dayMs = 86_400_000
const deleteRetentionMs = 7 * dayMs
/** Dead letters hold personal data. */
const deadLetterRetentionMs = 14 * dayMs
/** A year, and the time to look back at it. */
const auditRetentionMs = 400 * dayMs
/** A topic with more partitions is created beforehand by whoever needs them. */
const partitions = 4
/** Above any source topic's bound, so that a record fits together with the reason why it was set aside. */
const deadLetterMaxBytes = 32 * 1024 * 1024

/** The topics whose records become documents; the watermark speaks of them. */
export const documentTopics = (config: Config): string[] => [config.TOPIC_FORMS, config.TOPIC_SUBMISSIONS]

export const sourceTopics = (config: Config): string[] => [...documentTopics(config), config.TOPIC_ACCOUNT_KEYS]

/**
 * Creates missing topics and looks at those that exist; says whether the broker stamps append times on the document topics.
 * Safe to call from several processes at once.
 */
export async function ensureTopics(admin: Admin, config: Config, log: Logger): Promise<boolean> {
  const existing = new Set(await admin.listTopics())
  const missing = [
    ...sourceTopics(config).map((topic) => ({
      topic,
      numPartitions: partitions,
      replicationFactor: -1,
      configEntries: sourceEntries,
    })),
    { topic: config.TOPIC_DEAD_LETTERS, numPartitions: 1, replicationFactor: -1, configEntries: deadLetterEntries },
    { topic: config.TOPIC_KEY_MEMORY, numPartitions: 1, replicationFactor: -1, configEntries: memoryEntries },
    { topic: config.TOPIC_KEY_AUDIT, numPartitions: 1, replicationFactor: -1, configEntries: auditEntries },
  ].filter(({ topic }) => !existing.has(topic))
  await createTopics(admin, missing)
  return await checkSources(admin, config, log)
}

const sourceEntries = entries({
  'cleanup.policy': 'compact',
  'message.timestamp.type': 'LogAppendTime',
  'delete.retention.ms': deleteRetentionMs,
})

const deadLetterEntries = entries({
  'cleanup.policy': 'delete',
  'retention.ms': deadLetterRetentionMs,
  'max.message.bytes': deadLetterMaxBytes,
})

const auditEntries = entries({ 'cleanup.policy': 'delete', 'retention.ms': auditRetentionMs })

/** Only its own writers append, and it is read whole: no record needs the broker's time, and none is to be forgotten. */
const memoryEntries = entries({ 'cleanup.policy': 'compact' })

function entries(values: Record<string, string | number>): IResourceConfigEntry[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: String(value) }))
}

async function checkSources(admin: Admin, config: Config, log: Logger): Promise<boolean> {
  const sources = sourceTopics(config)
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [...sources, config.TOPIC_DEAD_LETTERS].map((name) => ({
      type: kafkajs.ConfigResourceTypes.TOPIC,
      name,
      configNames: ['cleanup.policy', 'message.timestamp.type', 'max.message.bytes'],
    })),
  })
  const setting = (topic: string, name: string): string =>
    resources
      .find(({ resourceName }) => resourceName === topic)
      ?.configEntries.find(({ configName }) => configName === name)?.configValue ?? ''
  const maxBytes = (topic: string): number => Number(setting(topic, 'max.message.bytes'))

  for (const topic of sources) {
    if (!setting(topic, 'cleanup.policy').includes('compact'))
      log.warn({ topic }, 'topic is not compacted: a rebuild misses records that its retention deleted')
    if (maxBytes(topic) >= maxBytes(config.TOPIC_DEAD_LETTERS))
      log.warn(
        { topic },
        'max.message.bytes of the topic is not below that of the dead-letters topic: a large rejected record may not fit',
      )
  }
  const unstamped = documentTopics(config).filter(
    (topic) => setting(topic, 'message.timestamp.type') !== 'LogAppendTime',
  )
  for (const topic of unstamped)
    log.warn({ topic }, 'topic lacks message.timestamp.type=LogAppendTime: no watermark is published')
  return unstamped.length === 0
}
