import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Producer } from 'kafkajs'
import { pino } from 'pino'
import { project } from '../../../indexer/project/project.ts'
import { toOffset } from '../../../src/core/model/ids.ts'
import type { DocumentWrite } from '../../../src/core/stores/documents.ts'
import { connectKafka } from '../../../src/core/stores/kafka.ts'
import { createProducer } from '../../../src/core/stores/kafkaSink.ts'
import { createTopics } from '../../../src/core/stores/topics.ts'
import { appendAll } from '../appendAll.ts'
import type { Stage } from '../stage.ts'
import { type Body, BodyWriter, ceilingIndices } from './bodies.ts'
import type { Size } from './size.ts'
import { createSubmissions, type SubmissionRecord } from './submissions.ts'

/** What all contenders begin with. */
export type Feed = {
  /** Where an indexer's documents lie ready, for all records. */
  readonly bodies: readonly Body[]
  /** Of a record's value, on average. */
  readonly valueBytes: number
}

export const partitions = 4
const allReplicas = -1

/** The topic that holds so many records. */
export const topicOf = (records: number): string => `submissions-${records}`

/** Brings the records of each size into a topic of its own, and their documents into files. */
export async function feed(stage: Stage, { records, fewerRecords, fewestRecords }: Size): Promise<Feed> {
  const sizes = [records, fewerRecords, fewestRecords]
  const kafka = connectKafka(stage.config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  const producer = createProducer(kafka)
  const folder = join(stage.folder, 'data', 'bodies')
  stage.release(() => rm(folder, { recursive: true, force: true }))
  const bodies = new BodyWriter(folder, await ceilingIndices())
  let sent = 0
  let valueBytes = 0
  const append = async (some: readonly SubmissionRecord[]): Promise<void> => {
    const topicMessages = sizes
      .filter((size) => size > sent)
      .map((size) => messagesOf(size, some.slice(0, size - sent)))
    await producer.sendBatch({ topicMessages, acks: allReplicas })
    for (const record of some) {
      await bodies.add(documentsOf(record, stage))
      valueBytes += Buffer.byteLength(record.value)
    }
    sent += some.length
  }
  try {
    await Promise.all([admin.connect(), producer.connect()])
    await createTopics(admin, sizes.map(topicLike))
    await appendAll(createSubmissions().past(records), records, append, stage.signal)
    return { bodies: await bodies.end(), valueBytes: valueBytes / records }
  } finally {
    await Promise.all<void>([admin.disconnect(), producer.disconnect()])
  }
}

const topicLike = (size: number) => ({
  topic: topicOf(size),
  numPartitions: partitions,
  configEntries: [
    { name: 'cleanup.policy', value: 'compact' },
    { name: 'message.timestamp.type', value: 'LogAppendTime' },
  ],
})

type TopicMessages = NonNullable<Parameters<Producer['sendBatch']>[0]['topicMessages']>[number]

const messagesOf = (size: number, some: readonly SubmissionRecord[]): TopicMessages => ({
  topic: topicOf(size),
  messages: some.map(({ key, value }) => ({ key, value })),
})

/** What an indexer makes of a record. */
function documentsOf({ key, value }: SubmissionRecord, { config }: Stage): readonly DocumentWrite[] {
  const record = {
    topic: config.TOPIC_SUBMISSIONS,
    partition: 0,
    offset: toOffset('0'),
    appendedAtMs: Date.now(),
    key: Buffer.from(key),
    value: Buffer.from(value),
    headers: {},
  }
  const projection = project(record, record.appendedAtMs, config)
  if (projection.kind !== 'documents') throw new Error(`${key} is no submission`)
  return projection.documents
}
