import { join } from 'node:path'
import type { Client } from '@elastic/elasticsearch'
import type { Admin } from 'kafkajs'
import { pino } from 'pino'
import { startProgressBar } from '../../../src/core/process/progressBar.ts'
import { connectKafka } from '../../../src/core/stores/kafka.ts'
import { createProducer } from '../../../src/core/stores/kafkaSink.ts'
import { createTopics } from '../../../src/core/stores/topics.ts'
import { choosePort } from '../../engines/ports.ts'
import { pause } from '../../engines/waiting.ts'
import { appendAll } from '../appendAll.ts'
import { type Contender, runRounds, runsIn } from '../rounds.ts'
import type { Stage } from '../stage.ts'
import { elasticsearchCpuMs } from './heap.ts'
import { readMetrics, sumOf } from './ownMetrics.ts'
import type { Size } from './size.ts'
import { type MadeRecord, submissionRecords } from './world.ts'

/** How an indexer brought records from Kafka into empty indices. */
export type IndexerRun = {
  readonly recordsPerSecond: number
  readonly peakResidentBytes: number
  /** CPU time for a record. */
  readonly indexerMs: number
  readonly elasticsearchMs: number
}

type Setting = { readonly name: string; readonly partitions: number; readonly maxInFlightMiB: number }

export const settings: readonly Setting[] = [
  { name: '4 partitions, 64 MiB under way', partitions: 4, maxInFlightMiB: 64 },
  { name: '4 partitions, 16 MiB under way', partitions: 4, maxInFlightMiB: 16 },
  { name: '1 partition, 64 MiB under way', partitions: 1, maxInFlightMiB: 64 },
]

const mebibyte = 1024 ** 2
const pollMs = 100
const warmUpShare = 0.25
const stallMs = 60_000
const teams = 1_000
const allReplicas = -1

const topicOf = (partitions: number): string => `submissions-in-${partitions}`

/** Runs an indexer in each setting, and answers what it took; `bytes` are those of a record, key and value. */
export async function measureIndexer(
  stage: Stage,
  client: Client,
  { indexedRecords, costRounds }: Size,
): Promise<{ readonly runs: ReadonlyMap<string, readonly IndexerRun[]>; readonly bytes: number }> {
  const kafka = connectKafka(stage.config, pino({ level: 'silent' }))
  const admin = kafka.admin()
  const producer = createProducer(kafka)
  stage.release(() => admin.disconnect())
  stage.release(() => producer.disconnect())
  await Promise.all([admin.connect(), producer.connect()])
  const topics = [...new Set(settings.map(({ partitions }) => partitions))]
  await createSources(admin, topics)
  let bytes = 0
  for (const topic of topics.map(topicOf)) {
    const append = async (records: readonly MadeRecord[]): Promise<void> => {
      const messages = records.map(({ key, value }) => ({ key, value }))
      for (const { key, value } of messages) bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
      await producer.send({ topic, messages, acks: allReplicas })
    }
    const records = submissionRecords({ submissions: indexedRecords, teams })
    await appendAll(records, indexedRecords, append, stage.signal)
  }
  const contenders = settings.map(
    (setting, place): Contender<IndexerRun> => ({
      name: setting.name,
      run: (round) => runOnce(stage, client, setting, indexedRecords, `run-${round}-${place}`),
    }),
  )
  const running = startProgressBar('Running an indexer', runsIn(costRounds, contenders.length), process.stdout)
  const runs = await runRounds(contenders, { ...costRounds, report: running.reach }).finally(running.end)
  return { runs, bytes: bytes / (topics.length * indexedRecords) }
}

async function createSources(admin: Admin, partitions: readonly number[]): Promise<void> {
  const configEntries = [
    { name: 'cleanup.policy', value: 'compact' },
    { name: 'message.timestamp.type', value: 'LogAppendTime' },
  ]
  const topics = partitions.map((numPartitions) => ({ topic: topicOf(numPartitions), numPartitions, configEntries }))
  await createTopics(admin, topics)
}

async function runOnce(
  stage: Stage,
  client: Client,
  { partitions, maxInFlightMiB }: Setting,
  records: number,
  name: string,
): Promise<IndexerRun> {
  const { signal } = stage
  const port = await choosePort()
  const elasticsearchBefore = await elasticsearchCpuMs(client, stage)
  const indexer = await stage.start(
    'indexer',
    {
      INDEX_PREFIX: name,
      CONSUMER_GROUP: name,
      TOPIC_SUBMISSIONS: topicOf(partitions),
      MAX_IN_FLIGHT_BYTES: String(maxInFlightMiB * mebibyte),
      ADMIN_PORT: String(port),
    },
    join(stage.logsFolder, name),
  )
  const watched = await watch(`http://127.0.0.1:${port}`, records, signal)
  const elasticsearchAfter = await elasticsearchCpuMs(client, stage)
  await indexer.stop()
  const indices = await client.indices.get({ index: `${name}-*` }, { signal })
  await client.indices.delete({ index: Object.keys(indices) }, { signal })
  return { ...watched, elasticsearchMs: (elasticsearchAfter - elasticsearchBefore) / records }
}

/** Watches an indexer until all is settled; the first part of it, while it warms up, is not counted. */
async function watch(
  adminOrigin: string,
  records: number,
  signal: AbortSignal,
): Promise<Omit<IndexerRun, 'elasticsearchMs'>> {
  let first: { atMs: number; settled: number; cpuSeconds: number } | undefined
  let peakResidentBytes = 0
  let known = -1
  let endMs = performance.now() + stallMs
  for (;;) {
    const text = await readMetrics(adminOrigin, signal).catch(() => '')
    signal.throwIfAborted()
    const atMs = performance.now()
    const settled = sumOf(text, 'tidemark_records_total')
    const cpuSeconds = sumOf(text, 'process_cpu_seconds_total')
    peakResidentBytes = Math.max(peakResidentBytes, sumOf(text, 'process_resident_memory_bytes'))
    if (settled > records * warmUpShare) first ??= { atMs, settled, cpuSeconds }
    if (first !== undefined && settled >= records && settled > first.settled) {
      const counted = settled - first.settled
      return {
        recordsPerSecond: (1_000 * counted) / (atMs - first.atMs),
        peakResidentBytes,
        indexerMs: (1_000 * (cpuSeconds - first.cpuSeconds)) / counted,
      }
    }
    if (settled > known) endMs = atMs + stallMs
    known = settled
    if (atMs > endMs) throw new Error(`The indexer has settled ${settled} of ${records} records for a minute`)
    await pause(pollMs, signal)
  }
}
