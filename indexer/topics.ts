import type { Logger } from 'pino'
import type { Config } from '../src/core/config/config.ts'
import type { KafkaSource, NewTopic } from '../src/core/kafka/source.ts'
import type { TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import { type CheckOutcome, failed, passed } from '../src/core/monitoring/health.ts'

const dayMs = 86_400_000
/** The partitions of a topic that an indexer creates. An operator who needs more creates the topic before the first start. */
const sourcePartitions = 4

const sourceSettings = {
  'cleanup.policy': 'compact',
  'message.timestamp.type': 'LogAppendTime',
  'delete.retention.ms': 7 * dayMs,
  // Without this bound, a topic with few appends may store a deleted entity for ever.
  'max.compaction.lag.ms': 7 * dayMs,
}
const deadLetterSettings = {
  'cleanup.policy': 'delete',
  // Dead letters contain personal data.
  'retention.ms': 14 * dayMs,
  // More than source topics accept (about 1 MiB by default): a dead letter has the whole record, and its reason.
  'max.message.bytes': 32 * 1024 * 1024,
}
/** Kafka stores the audit log for a year, and for a month more, in which that year can be audited. */
const auditSettings = { 'cleanup.policy': 'delete', 'retention.ms': 400 * dayMs }

/** The topics whose records become documents. The watermark (every record appended before this time is searchable) is about these only. */
export const documentTopics = (config: Config): string[] => [config.TOPIC_FORMS, config.TOPIC_SUBMISSIONS]

/** `topic`: a document topic. */
export const entityTypeIn = (topic: string, config: Pick<Config, 'TOPIC_FORMS'>): EntityType =>
  topic === config.TOPIC_FORMS ? 'forms' : 'submissions'

/** Of these partitions, those of document topics, with the type of their entities. */
export const documentPartitionsIn = (
  partitions: readonly TopicPartition[],
  config: Config,
): (TopicPartition & { readonly type: EntityType })[] =>
  partitions.flatMap((partition) =>
    documentTopics(config).includes(partition.topic)
      ? [{ ...partition, type: entityTypeIn(partition.topic, config) }]
      : [],
  )

/** The topics that an indexer reads. */
export const sourceTopics = (config: Config): string[] => [...documentTopics(config), config.TOPIC_ACCOUNT_KEYS]

/** What the settings of the source topics mean for reading. */
export type TopicRules = {
  /** Whether both document topics have `message.timestamp.type=LogAppendTime`. If not, producers set the times of records, and no watermark is published. */
  readonly hasAppendTimes: boolean
  /** Topic → `cleanup.policy`, for each source topic with another policy than `compact`. From such a topic, Kafka may delete records of live entities. */
  readonly wrongPolicies: Readonly<Record<string, string>>
  /** Topic → the least time (ms) from the append of a deletion until compaction may remove it. */
  readonly keptMs: Readonly<Record<string, number>>
}

/**
 * The `keptMs` of a topic in `wrongPolicies`, where Kafka may remove a deletion at any time: less than every delay of reading, so that a deletion counts as
 * missed.
 */
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

/** A dead letter is larger than its record, by the headers with reason and source: by at most so many bytes. */
const maxAddedBytes = 4_096

/**
 * Fails unless the topic of dead letters accepts the largest record of every source topic with the headers of a dead letter. If Kafka refuses a dead letter,
 * its record is never committed, and the partition stands still until an operator raises `max.message.bytes`. Rejects if Kafka does not answer.
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

/** Reads the rules from the settings of the source topics. */
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
