import type { Logger } from 'pino'
import type { Config } from '../src/core/config/config.ts'
import type { KafkaSource, NewTopic } from '../src/core/kafka/source.ts'
import type { TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'

const dayMs = 86_400_000
/** An operator who needs more creates the topic before the first start. */
const sourcePartitions = 4

const sourceSettings = {
  'cleanup.policy': 'compact',
  'message.timestamp.type': 'LogAppendTime',
  'delete.retention.ms': 7 * dayMs,
  // Otherwise a topic with few appends may store a deleted entity for ever.
  'max.compaction.lag.ms': 7 * dayMs,
}
const deadLetterSettings = {
  'cleanup.policy': 'delete',
  // Dead letters contain personal data.
  'retention.ms': 14 * dayMs,
  // More than source topics accept (about 1 MiB by default): a dead letter adds its reason to the record.
  'max.message.bytes': 32 * 1024 * 1024,
}
/** The audit log of a year, and a month in which that year can be audited. */
const auditSettings = { 'cleanup.policy': 'delete', 'retention.ms': 400 * dayMs }

/** The topics whose records become documents, and set the watermark. */
export const documentTopics = (config: Config): string[] => [config.TOPIC_FORMS, config.TOPIC_SUBMISSIONS]

export const entityTypeIn = (topic: string, config: Pick<Config, 'TOPIC_FORMS'>): EntityType =>
  topic === config.TOPIC_FORMS ? 'forms' : 'submissions'

export const documentPartitionsIn = (
  partitions: readonly TopicPartition[],
  config: Config,
): (TopicPartition & { readonly type: EntityType })[] =>
  partitions.flatMap((partition) =>
    documentTopics(config).includes(partition.topic)
      ? [{ ...partition, type: entityTypeIn(partition.topic, config) }]
      : [],
  )

export const sourceTopics = (config: Config): string[] => [...documentTopics(config), config.TOPIC_ACCOUNT_KEYS]

export type TopicRules = {
  /** Whether both document topics have `LogAppendTime`. Otherwise producers set the times of records, and no watermark is published. */
  readonly hasAppendTimes: boolean
  /** Topic → `cleanup.policy`, if it is not `compact`: Kafka may delete records of live entities. */
  readonly wrongPolicies: Readonly<Record<string, string>>
  /** Topic → the least time (ms) from the append of a deletion until compaction may remove it. */
  readonly keptMs: Readonly<Record<string, number>>
}

/** In place of `keptMs`, where Kafka may remove a deletion at any time: less than every delay, so that a deletion counts as missed. */
const notKeptMs = Number.MIN_SAFE_INTEGER

/** Creates missing topics, and reads the rules of all. Several processes may call it at once. Rejects if Kafka does not answer. */
export async function ensureTopics(source: KafkaSource, config: Config, log: Logger): Promise<TopicRules> {
  const topics: NewTopic[] = [
    ...sourceTopics(config).map((topic) => ({ topic, partitions: sourcePartitions, settings: sourceSettings })),
    { topic: config.TOPIC_DEAD_LETTERS, partitions: 1, settings: deadLetterSettings },
    { topic: config.TOPIC_KEY_AUDIT, partitions: 1, settings: auditSettings },
  ]
  await source.createMissingTopics(topics)
  const rules = await readTopicRules(source, config)
  if (!rules.hasAppendTimes)
    log.warn('a document topic lacks message.timestamp.type=LogAppendTime: no watermark is published')
  const deadLetters = await checkDeadLetterSize(source, config).catch((err: unknown) => {
    log.warn({ err }, 'could not check whether every dead letter has room in its topic')
    return passed
  })
  if (!deadLetters.ok) log.warn(deadLetters.problem)
  return rules
}

/** The headers of a dead letter add at most so many bytes. */
const maxAddedBytes = 4_096

/**
 * Fails unless the topic of dead letters accepts the largest record of every source topic. Otherwise a partition stands still at a record whose dead letter
 * Kafka refuses, until an operator raises `max.message.bytes`. Rejects if Kafka does not answer.
 */
export async function checkDeadLetterSize(
  source: Pick<KafkaSource, 'topicSettings'>,
  config: Config,
): Promise<CheckOutcome> {
  const name = 'max.message.bytes'
  const deadLetterTopic = config.TOPIC_DEAD_LETTERS
  const setting = await source.topicSettings([deadLetterTopic, ...sourceTopics(config)], [name])
  const bounds = sourceTopics(config).map((topic) => ({ topic, bytes: Number(setting(topic, name)) }))
  const deadLetterBytes = Number(setting(deadLetterTopic, name))
  const neededBytes = Math.max(...bounds.map(({ bytes }) => bytes)) + maxAddedBytes
  const tooLarge = bounds.filter(({ bytes }) => bytes + maxAddedBytes > deadLetterBytes)
  if (tooLarge.length === 0) return passed
  const sources = tooLarge.map(({ topic, bytes }) => `${bytes} of ${topic}`).join(', ')
  return failed(
    `${deadLetterTopic} takes records of ${setting(deadLetterTopic, name)} bytes, less than ${sources} and a reason: set its ${name} to ${neededBytes}`,
  )
}

export async function readTopicRules(source: Pick<KafkaSource, 'topicSettings'>, config: Config): Promise<TopicRules> {
  const topics = sourceTopics(config)
  const names = ['cleanup.policy', 'message.timestamp.type', 'delete.retention.ms']
  const setting = await source.topicSettings(topics, names)
  const policies = topics.map((topic) => [topic, setting(topic, 'cleanup.policy')] as const)
  const wrongPolicies = Object.fromEntries(policies.filter(([, policy]) => policy !== 'compact'))
  const keptMs = (topic: string): number =>
    topic in wrongPolicies ? notKeptMs : Number(setting(topic, 'delete.retention.ms'))
  return {
    hasAppendTimes: documentTopics(config).every(
      (topic) => setting(topic, 'message.timestamp.type') === 'LogAppendTime',
    ),
    wrongPolicies,
    keptMs: Object.fromEntries(topics.map((topic) => [topic, keptMs(topic)])),
  }
}
