import { pino } from 'pino'
import { createAccountKey } from '../../demo/accountKeys.ts'
import { untilIndexed, untilTopicsExist } from '../../demo/indexing.ts'
import { choosePort } from '../../engines/ports.ts'
import { waitUntil } from '../../engines/waiting.ts'
import { startProgressBar } from '../../src/progressBar.ts'
import { connectElasticsearch } from '../../src/replica/elasticsearch.ts'
import { connectKafka, createProducer } from '../../src/replica/kafka.ts'
import type { Stage } from '../stage.ts'
import { allSubmissions, largeTeam, type SubmissionRecord } from './submissions.ts'

/** The replica as it serves the large team. */
export type ServedReplica = {
  /** Of the API, such as `http://127.0.0.1:3000`. */
  readonly origin: string
  readonly accountKey: string
  /** Appends to the topic of submissions. */
  append(records: readonly SubmissionRecord[]): Promise<void>
}

const maxSendCharacters = 512 * 1024
const allReplicas = -1
const mergesDeadlineMs = 120_000
/** No request of a bench is to be refused. */
const unlimited = '1000000000'

/** Starts indexer and API, and brings `records` through Kafka; returns once all can be found and the engines are at rest. */
export async function serveReplica(stage: Stage, records: Iterable<SubmissionRecord>): Promise<ServedReplica> {
  const { config, environment, signal } = stage
  const port = await choosePort()
  await Promise.all([
    stage.start('indexer', {}),
    stage.start('api', { PORT: String(port), RATE_LIMIT_PER_MINUTE: unlimited }),
  ])
  const kafka = connectKafka(config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  stage.release(() => admin.disconnect())
  const producer = createProducer(kafka)
  stage.release(() => producer.disconnect())
  await Promise.all([admin.connect(), producer.connect()])
  const append = async (some: readonly SubmissionRecord[]): Promise<void> => {
    await producer.send({ topic: config.TOPIC_SUBMISSIONS, messages: [...some], acks: allReplicas })
  }
  await untilTopicsExist(admin, config, signal)
  const accountKey = await createAccountKey(largeTeam, environment, signal)
  await appendAll(records, append, signal)
  const indexing = startProgressBar('Indexing submissions', allSubmissions, process.stdout)
  const progress = { topics: config, groupId: config.CONSUMER_GROUP, signal, report: indexing.reach }
  await untilIndexed(admin, progress).finally(indexing.end)
  await untilMerged(stage)
  return { origin: `http://127.0.0.1:${port}`, accountKey, append }
}

async function appendAll(
  records: Iterable<SubmissionRecord>,
  append: ServedReplica['append'],
  signal: AbortSignal,
): Promise<void> {
  const sending = startProgressBar('Sending submissions', allSubmissions, process.stdout)
  let chunk: SubmissionRecord[] = []
  let characters = 0
  let sent = 0
  const send = async (): Promise<void> => {
    signal.throwIfAborted()
    await append(chunk)
    sent += chunk.length
    sending.reach(sent)
    chunk = []
    characters = 0
  }
  try {
    for (const record of records) {
      chunk.push(record)
      characters += record.value.length
      if (characters >= maxSendCharacters) await send()
    }
    await send()
  } finally {
    sending.end()
  }
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
