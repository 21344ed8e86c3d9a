import type { Logger } from 'pino'
import type { KafkaSource, NewTopic } from '../src/core/kafka/source.ts'
import type { TopicPartition } from '../src/core/kafka/sourceRecord.ts'
import type { EntityType } from '../src/core/model/ids.ts'
import type { Config } from '../src/core/process/config.ts'

const dayMs = 86_400_000
/** A topic with more partitions is created beforehand by whoever needs them. */
const sourcePartitions = 4

const sourceSettings = {
  'cleanup.policy': 'compact',
  'message.timestamp.type': 'LogAppendTime',
  'delete.retention.ms': 7 * dayMs,
  // Without it, what was deleted may stay for ever where little is appended.
  'max.compaction.lag.ms': 7 * dayMs,
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

/** What the records of a document topic are. */
export const entityTypeIn = (topic: string, config: Pick<Config, 'TOPIC_FORMS'>): EntityType =>
  topic === config.TOPIC_FORMS ? 'forms' : 'submissions'

/** Those of the partitions that belong to a document topic, with the entity type of their records. */
export const documentPartitionsIn = (partitions: readonly TopicPartition[], config: Config) =>
  partitions.flatMap((each) =>
    documentTopics(config).includes(each.topic) ? [{ ...each, type: entityTypeIn(each.topic, config) }] : [],
  )

export const sourceTopics = (config: Config): string[] => [...documentTopics(config), config.TOPIC_ACCOUNT_KEYS]

/** What the settings of the source topics promise. */
export type TopicRules = Awaited<ReturnType<typeof readTopicRules>>

/** Kept for no time at all: shorter than any age. */
const notKeptMs = Number.MIN_SAFE_INTEGER

/**
 * Creates missing topics and checks the settings of those that exist. Resolves with what these promise. Safe to call from several
 * processes at once.
 */
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
  const problem = await deadLettersProblem(source, config).catch((err: unknown) => {
    log.warn({ err }, 'Kafka does not tell whether every dead letter has room in its topic')
  })
  if (problem !== undefined) log.warn(problem)
  return rules
}

/** What a dead letter has beside the record: the reason, and where the record was. */
const maxReasonBytes = 4_096

/**
 * Why a rejected record may find no room among the dead letters, so that its partition would wait for an operator; undefined where all have
 * room. Rejects if Kafka does not tell the bounds: those of the topics, or else the brokers' `message.max.bytes`.
 */
export async function deadLettersProblem(source: Pick<KafkaSource, 'topicSettings'>, config: Config) {
  const [name, letters] = ['max.message.bytes', config.TOPIC_DEAD_LETTERS]
  const setting = await source.topicSettings([letters, ...sourceTopics(config)], [name])
  const bounds = sourceTopics(config).map((topic) => ({ topic, bytes: Number(setting(topic, name)) }))
  const neededBytes = Math.max(...bounds.map(({ bytes }) => bytes)) + maxReasonBytes
  const tooLarge = bounds.filter(({ bytes }) => bytes + maxReasonBytes > Number(setting(letters, name)))
  if (tooLarge.length === 0) return undefined
  const sources = tooLarge.map(({ topic, bytes }) => `${bytes} of ${topic}`).join(', ')
  return `${letters} takes records of ${setting(letters, name)} bytes, less than ${sources} and a reason: set its ${name} to ${neededBytes}`
}

/** Rejects if Kafka does not tell a setting of a source topic. */
export async function readTopicRules(source: Pick<KafkaSource, 'topicSettings'>, config: Config) {
  const [documents, sources] = [documentTopics(config), sourceTopics(config)]
  const names = ['cleanup.policy', 'message.timestamp.type', 'delete.retention.ms']
  const setting = await source.topicSettings(sources, names)
  const policies = sources.map((topic) => [topic, setting(topic, 'cleanup.policy')] as const)
  const forgetful = Object.fromEntries(policies.filter(([, policy]) => policy !== 'compact'))
  const keptMs = (topic: string): number =>
    topic in forgetful ? notKeptMs : Number(setting(topic, 'delete.retention.ms'))
  return {
    /** Brokers stamp append times on the document topics. */
    hasAppendTimes: documents.every((topic) => setting(topic, 'message.timestamp.type') === 'LogAppendTime'),
    /** The source topics that are not purely compacted, with their cleanup.policy: they lose records that nothing has replaced. */
    forgetful,
    /** How long (ms) each source topic keeps a deletion for certain. */
    keptMs: Object.fromEntries(sources.map((topic) => [topic, keptMs(topic)])),
  }
}
