import { pino } from 'pino'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { connectElasticsearch } from '../../../src/core/stores/elasticsearch.ts'
import { connectKafka } from '../../../src/core/stores/kafka.ts'
import { createProducer } from '../../../src/core/stores/kafkaSink.ts'
import { createAccountKey } from '../../demo/accountKeys.ts'
import { untilIndexed } from '../../demo/indexing.ts'
import { waitUntil } from '../../engines/waiting.ts'
import { appendAll } from '../appendAll.ts'
import { type ApiOrigins, startProcesses } from '../processes.ts'
import type { Stage } from '../stage.ts'
import { allSubmissions, largeTeam, type SubmissionRecord } from './submissions.ts'

/** The replica as it serves the large team. */
export type ServedReplica = ApiOrigins & {
  readonly accountKey: string
  append: Append
  /** Returns once all that was appended can be found. */
  untilFound(): Promise<void>
}

/** Appends to a topic; that of submissions unless another is named. */
export type Append = (records: readonly SubmissionRecord[], topic?: string) => Promise<void>

const allReplicas = -1
const mergesDeadlineMs = 120_000

/** Starts indexer and API, and brings `records` through Kafka; returns once all can be found and the engines are at rest. */
export async function serveReplica(stage: Stage, records: Iterable<SubmissionRecord>): Promise<ServedReplica> {
  const { config, environment, signal } = stage
  const origins = await startProcesses(stage)
  const kafka = connectKafka(config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  stage.release(() => admin.disconnect())
  const producer = createProducer(kafka)
  stage.release(() => producer.disconnect())
  await Promise.all([admin.connect(), producer.connect()])
  const append: Append = async (some, topic = config.TOPIC_SUBMISSIONS) => {
    await producer.send({ topic, messages: [...some], acks: allReplicas })
  }
  const accountKey = await createAccountKey(largeTeam, environment, signal)
  await appendAll(records, allSubmissions, append, signal)
  const indexing = startProgressBar('Indexing submissions', allSubmissions, process.stdout)
  const progress = { topics: config, groupId: config.CONSUMER_GROUP, signal }
  await untilIndexed(admin, { ...progress, report: indexing.reach }).finally(indexing.end)
  await untilMerged(stage)
  const untilFound = (): Promise<void> => untilIndexed(admin, { ...progress, report: () => undefined })
  return { ...origins, accountKey, append, untilFound }
}

/** Elasticsearch goes on merging what was indexed in one go; it would compete with what is measured. */
async function untilMerged({ config, signal }: Stage): Promise<void> {
  const elasticsearch = connectElasticsearch(config)
  let quietPolls = 0
  const isQuiet = async (): Promise<boolean> => {
    const { _all } = await elasticsearch.indices.stats({ metric: 'merge' })
    quietPolls = _all.total?.merges?.current === 0 ? quietPolls + 1 : 0
    return quietPolls > 10
  }
  try {
    if (await waitUntil(isQuiet, { deadlineMs: mergesDeadlineMs, signal })) return
    throw new Error(`Elasticsearch is still merging after ${mergesDeadlineMs / 1_000} s`)
  } finally {
    await elasticsearch.close()
  }
}
