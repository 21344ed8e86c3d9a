import { createHash, randomUUID } from 'node:crypto'
import { Client } from '@elastic/elasticsearch'
import { Redis } from 'ioredis'
import type { Consumer, KafkaMessage } from 'kafkajs'
import { eventually } from './eventually.ts'
import type { Pipeline } from './pipeline.ts'
import type { HistoryRecord } from './randomHistory.ts'

/** A record as Kafka holds it, with what its documents must come to. */
export type ObservedRecord = {
  /** `<topic>/<partition>` and the offset in it. */
  readonly partition: string
  readonly offset: bigint
  readonly appendedAtMs: number
  readonly kind: 'form' | 'submission' | 'account-key'
  readonly key: string
  /** A digest of key and value. */
  readonly bytes: string
  readonly isPoison: boolean
  /** The version that its documents have at least; 0 for poison. */
  readonly version: number
}

/** A dead letter: the place its headers name, and a digest of key and value as they came. */
export type ObservedLetter = { readonly place: string; readonly bytes: string }

/**
 * Sees by itself what the engines hold: it reads every record in Kafka, asks Elasticsearch by search alone (it never refreshes,
 * so that it hides nothing), and reads what Redis and Kafka say of the indexer's progress.
 */
export type ReplicaObserver = {
  /** Every record of the source topics up to their present ends. */
  records(): Promise<readonly ObservedRecord[]>
  letters(): Promise<readonly ObservedLetter[]>
  /** `<topic>/<partition>` → the offset that the indexer's group has committed. */
  committed(): Promise<ReadonlyMap<string, bigint>>
  isAllCommitted(): Promise<boolean>
  /** Waits until every record that Kafka holds now is committed. */
  untilAllCommitted(): Promise<void>
  /** The published watermark, in epoch ms. */
  watermarkMs(): Promise<number | undefined>
  /** What a search finds: `<index kind>/<document id>` → version. */
  searchable(): Promise<ReadonlyMap<string, number>>
  close(): Promise<void>
}

const deletedVersion = 2 ** 53 - 1
const pageSize = 10_000
const indexKinds = ['forms', 'form-details', 'submissions', 'submission-details']

/** The bytes of poison among `records`. */
export const poisonOf = (records: readonly HistoryRecord[]): string[] =>
  records.filter(({ isPoison }) => isPoison).map(digestOf)

/** Topics must exist. `poison` holds what `poisonOf` says of everything that is produced, before it is produced. */
export async function openReplicaObserver(
  { names, kafka }: Pipeline,
  poison: ReadonlySet<string>,
): Promise<ReplicaObserver> {
  const prefix = names['INDEX_PREFIX'] ?? ''
  const letterTopic = names['TOPIC_DEAD_LETTERS'] ?? ''
  const kinds = new Map<string, ObservedRecord['kind']>([
    [names['TOPIC_FORMS'] ?? '', 'form'],
    [names['TOPIC_SUBMISSIONS'] ?? '', 'submission'],
    [names['TOPIC_ACCOUNT_KEYS'] ?? '', 'account-key'],
  ])
  const records: ObservedRecord[] = []
  const letters: ObservedLetter[] = []
  const onMessage = (topic: string, partition: string, message: KafkaMessage): void => {
    const kind = kinds.get(topic)
    if (kind === undefined) letters.push(letterOf(message))
    else records.push(recordOf(kind, partition, message, poison))
  }
  const consumer = kafka.consumer({ groupId: `${prefix}-observer-${randomUUID()}`, maxWaitTimeInMs: 100 })
  const reader = await readAlong(consumer, [...kinds.keys(), letterTopic], onMessage)
  const admin = kafka.admin()
  await admin.connect()
  const redis = new Redis(process.env['REDIS_URL'] ?? '')
  const elasticsearch = new Client({ node: process.env['ELASTICSEARCH_URL'] ?? '' })

  const endsOf = async (topics: readonly string[]): Promise<Map<string, bigint>> => {
    const ends = await Promise.all(
      topics.map(async (topic) => (await admin.fetchTopicOffsets(topic)).map((end) => ({ topic, ...end }))),
    )
    const held = ends.flat().filter(({ low, high }) => BigInt(low) < BigInt(high))
    return new Map(held.map(({ topic, partition, high }) => [`${topic}/${partition}`, BigInt(high)]))
  }
  const untilRead = async (topics: readonly string[]): Promise<void> => {
    const ends = await endsOf(topics)
    await eventually(() => hasReached(reader, ends))
  }
  const observer: ReplicaObserver = {
    records: async () => {
      await untilRead([...kinds.keys()])
      return records
    },
    letters: async () => {
      await untilRead([letterTopic])
      return letters
    },
    committed: async () => {
      const offsets = await admin.fetchOffsets({ groupId: names['CONSUMER_GROUP'] ?? '', topics: [...kinds.keys()] })
      return new Map(
        offsets.flatMap(({ topic, partitions }) =>
          partitions.map(({ partition, offset }) => [`${topic}/${partition}`, BigInt(offset)] as const),
        ),
      )
    },
    isAllCommitted: async () => hasReached(await observer.committed(), await endsOf([...kinds.keys()])),
    untilAllCommitted: async () => {
      const ends = await endsOf([...kinds.keys()])
      await eventually(async () => hasReached(await observer.committed(), ends))
    },
    watermarkMs: async () => {
      const published = await redis.hget(`${prefix}:watermark`, 'published')
      return published === null ? undefined : Number(published)
    },
    searchable: async () => {
      const found = await Promise.all(indexKinds.map((kind) => versionsOf(elasticsearch, prefix, kind)))
      return new Map(found.flat())
    },
    close: async () => {
      await consumer.disconnect()
      await admin.disconnect()
      redis.disconnect()
      await elasticsearch.close()
    },
  }
  return observer
}

/** Reads topics from their beginning and goes on; tells how far each partition has been read. */
async function readAlong(
  consumer: Consumer,
  topics: string[],
  onMessage: (topic: string, partition: string, message: KafkaMessage) => void,
): Promise<ReadonlyMap<string, bigint>> {
  const next = new Map<string, bigint>()
  await consumer.connect()
  await consumer.subscribe({ topics, fromBeginning: true })
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch }) => {
      const partition = `${batch.topic}/${batch.partition}`
      // KafkaJS hands a batch over again after a rebalance.
      const isNew = ({ offset }: KafkaMessage): boolean => BigInt(offset) >= (next.get(partition) ?? 0n)
      for (const message of batch.messages.filter(isNew)) onMessage(batch.topic, partition, message)
      next.set(partition, BigInt(batch.lastOffset()) + 1n)
    },
  })
  return next
}

const hasReached = (positions: ReadonlyMap<string, bigint>, ends: ReadonlyMap<string, bigint>): boolean =>
  [...ends].every(([partition, end]) => (positions.get(partition) ?? 0n) >= end)

function recordOf(
  kind: ObservedRecord['kind'],
  partition: string,
  message: KafkaMessage,
  poison: ReadonlySet<string>,
): ObservedRecord {
  const bytes = digestOf(message)
  const isPoison = kind !== 'account-key' && poison.has(bytes)
  return {
    partition,
    offset: BigInt(message.offset),
    appendedAtMs: Number(message.timestamp),
    kind,
    key: String(message.key),
    bytes,
    isPoison,
    version: isPoison ? 0 : versionOf(message),
  }
}

function letterOf(message: KafkaMessage): ObservedLetter {
  const tells = (name: string): string => String(message.headers?.[`tidemark.${name}`])
  return { place: `${tells('topic')}/${tells('partition')}/${tells('offset')}`, bytes: digestOf(message) }
}

const versionOf = ({ value }: KafkaMessage): number =>
  value === null ? deletedVersion : (JSON.parse(value.toString()) as { revision: number }).revision

const digestOf = ({ key, value }: { key: Buffer | null; value: Buffer | null }): string =>
  createHash('sha256')
    .update(`${key?.toString('hex')} ${value?.toString('hex')}`)
    .digest('base64')

async function versionsOf(client: Client, prefix: string, kind: string): Promise<[string, number][]> {
  const found: [string, number][] = []
  const search = {
    index: `${prefix}-${kind}`,
    version: true,
    _source: false,
    size: pageSize,
    sort: ['_doc'],
    allow_partial_search_results: false,
  }
  for await (const { body } of client.helpers.scrollSearch(search))
    for (const { _id: id, _version: version } of body.hits.hits) found.push([`${kind}/${id}`, version ?? 0])
  return found
}
