import type { Logger } from 'pino'
import type { Config } from '../src/core/process/config.ts'
import type { KafkaSource, NewTopic } from '../src/core/stores/kafkaSource.ts'

const dayMs = 86_400_000
/** A topic with more partitions is created beforehand by whoever needs them. */
const sourcePartitions = 4

const sourceSettings = {
  'cleanup.policy': 'compact',
  'message.timestamp.type': 'LogAppendTime',
  'delete.retention.ms': 7 * dayMs,
}
const deadLetterSettings = {
  'cleanup.policy': 'delete',
  // Dead letters hold personal data.
  'retention.ms': 14 * dayMs,
  // Above the bound of every source topic, because a dead letter is a record and the reason for its rejection.
  'max.message.bytes': 32 * 1024 * 1024,
}
/** A year, and the time to look back at it. */
const auditSettings = { 'cleanup.policy': 'delete', 'retention.ms': 400 * dayMs }

/** The topics whose records become documents; the watermark covers them. */
export const documentTopics = (config: Config): string[] => [config.TOPIC_FORMS, config.TOPIC_SUBMISSIONS]

export const sourceTopics = (config: Config): string[] => [...documentTopics(config), config.TOPIC_ACCOUNT_KEYS]

/**
 * Creates missing topics and checks the settings of those that exist. Resolves with whether the broker stamps append times on the
 * document topics. Safe to call from several processes at once.
 */
export async function ensureTopics(source: KafkaSource, config: Config, log: Logger): Promise<boolean> {
  const topics: NewTopic[] = [
    ...sourceTopics(config).map((topic) => ({ topic, partitions: sourcePartitions, settings: sourceSettings })),
    { topic: config.TOPIC_DEAD_LETTERS, partitions: 1, settings: deadLetterSettings },
    { topic: config.TOPIC_KEY_AUDIT, partitions: 1, settings: auditSettings },
  ]
  await source.createMissingTopics(topics)
  return await checkSources(source, config, log)
}

async function checkSources(source: KafkaSource, config: Config, log: Logger): Promise<boolean> {
  const sources = sourceTopics(config)
  const settings = await source.topicSettings(
    [...sources, config.TOPIC_DEAD_LETTERS],
    ['cleanup.policy', 'message.timestamp.type', 'max.message.bytes'],
  )
  const setting = (topic: string, name: string): string => String(settings.get(topic)?.[name] ?? '')
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
