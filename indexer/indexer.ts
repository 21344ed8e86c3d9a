import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@elastic/elasticsearch'
import type { Admin } from 'kafkajs'
import { Counter, Gauge, Histogram } from 'prom-client'
import type { Problem } from '../src/domain/result.ts'
import { connectElasticsearch } from '../src/replica/elasticsearch.ts'
import { aliasOf, documentKinds } from '../src/replica/indices.ts'
import { connectKafka, createProducer } from '../src/replica/kafka.ts'
import { keyView } from '../src/replica/keyView.ts'
import { connectRedis } from '../src/replica/redis.ts'
import { redisKeys } from '../src/replica/redisKeys.ts'
import { publishTidemark, withdrawTidemark } from '../src/replica/tidemark.ts'
import type { Readiness, Service } from '../src/service.ts'
import { untilDone } from './backoff.ts'
import { ByteBudget } from './budget.ts'
import { sendBulk } from './bulk.ts'
import { nameOf, SourceConsumer } from './consumer.ts'
import { createIndices } from './createIndices.ts'
import { deadLetters } from './deadLetters.ts'
import { applyKeyChange, keepKeyView } from './keyFold.ts'
import { project } from './project.ts'
import { type PartitionEnds, Publisher } from './publisher.ts'
import type { SourceRecord } from './sourceRecord.ts'
import { documentTopics, ensureTopics, sourceTopics } from './topics.ts'
import { BulkWriter, type Outcome } from './writer.ts'

const maxBudgetBytes = 64 * 1024 * 1024
const maxBulkBytes = 5 * 1024 * 1024
const maxBulkDocuments = 2_000
const maxFlights = 2
const bulkTimeoutMs = 60_000
const refreshTimeoutMs = 60_000
const drainDeadlineMs = 5_000
const drainPollMs = 20

/** Builds the indexer from its live clients and starts it. Engines may be away: it waits for them. */
export async function startIndexer(service: Service): Promise<Readiness> {
  const { config, log, metrics, signal, release, fail } = service
  const clock = Date.now
  const random = Math.random
  const outcomes = new Counter({
    name: 'tidemark_records_total',
    help: 'Records by topic and what became of them',
    labelNames: ['topic', 'outcome'] as const,
    registers: [metrics],
  })
  const bulkSeconds = new Histogram({
    name: 'tidemark_bulk_seconds',
    help: 'Time of a bulk request',
    registers: [metrics],
  })
  const budget = new ByteBudget(maxBudgetBytes)
  new Gauge({
    name: 'tidemark_in_flight_bytes',
    help: 'Bytes of records under way',
    registers: [metrics],
    collect() {
      this.set(budget.takenBytes)
    },
  })

  const writing = new AbortController()
  release('writer', async () => writing.abort())

  const elasticsearch = connectElasticsearch(config)
  release('elasticsearch', () => elasticsearch.close())
  const redis = connectRedis(config.REDIS_URL ?? '', (error) => log.warn({ err: error }, 'redis'))
  release('redis', () => redis.close())
  const keys = redisKeys(config.INDEX_PREFIX)
  const view = keyView(redis, keys)
  const kafka = connectKafka(config, log)
  const admin = kafka.admin()
  release('kafka admin', () => admin.disconnect())
  const producer = createProducer(kafka)
  release('kafka producer', () => producer.disconnect())

  let waitingFor: string | undefined
  const wait = <T>(what: string, attempt: () => Promise<T>): Promise<T> => {
    const onFailure = (error: unknown, attempts: number): void => {
      waitingFor = `${what}: ${(error as Error).message}`
      log.warn({ err: error, attempts }, `${what} failed; trying again`)
    }
    return untilDone(attempt, onFailure, writing.signal, random).finally(() => {
      waitingFor = undefined
    })
  }

  let writerTrouble: string | undefined
  const writer = new BulkWriter({
    send: async (documents) => {
      const stop = bulkSeconds.startTimer()
      const options = { timeoutMs: bulkTimeoutMs, signal: writing.signal }
      return await sendBulk(elasticsearch, config.INDEX_PREFIX, documents, options).finally(stop)
    },
    maxBulkBytes,
    maxBulkDocuments,
    maxFlights,
    random,
    signal: writing.signal,
    onTrouble: (trouble) => {
      if (trouble !== null && writerTrouble === undefined)
        log.warn({ kind: trouble.kind }, 'documents cannot be stored; trying on')
      if (trouble === null && writerTrouble !== undefined) log.info('documents are stored again')
      writerTrouble = trouble?.reason
    },
    onFatal: fail,
  })

  const setAside = deadLetters(producer, config.TOPIC_DEAD_LETTERS, clock)
  const refuse = async (record: SourceRecord, problem: Problem): Promise<void> => {
    await wait('setting a record aside', () => setAside(record, problem))
    const { topic, partition, offset } = record
    log.warn({ topic, partition, offset: String(offset), path: problem.path }, 'record set aside')
    outcomes.inc({ topic, outcome: 'dead-letter' })
  }
  const take = async (record: SourceRecord): Promise<void> => {
    const projection = project(record, config)
    switch (projection.kind) {
      case 'refused':
        return await refuse(record, projection.problem)
      case 'account-key': {
        const applied = await wait('applying an account key', () => applyKeyChange(view, projection.change))
        if (applied === 'digest-held')
          return await refuse(record, { path: 'key.digest', rule: 'is held by another key' })
        outcomes.inc({ topic: record.topic, outcome: applied === 'applied' ? 'indexed' : 'stale' })
        return
      }
      case 'documents': {
        const { documents, version } = projection
        const outcome = await new Promise<Outcome>((done) => writer.submit({ documents, version, done }))
        if (outcome.kind === 'rejected') return await refuse(record, { path: 'document', rule: outcome.reason })
        outcomes.inc({ topic: record.topic, outcome: outcome.kind })
        publisher.noteWrite()
      }
    }
  }

  const sources = sourceTopics(config)
  const consumer = new SourceConsumer({
    kafka,
    groupId: config.CONSUMER_GROUP,
    topics: sources,
    budget,
    onRecord: (record, settled) => {
      take(record).then(settled, (error: unknown) => {
        if (!writing.signal.aborted) fail(error)
      })
    },
    log,
    random,
  })

  let everyPartition: string[] = []
  const isOfDocuments = (name: string): boolean => documentTopics(config).some((topic) => name.startsWith(`${topic}/`))
  let hasAppendTimes = false
  const publisher = new Publisher({
    assigned: () => consumer.assigned(),
    ends: async (withCommitted) => {
      const ends = await partitionEnds(admin, sources, withCommitted ? config.CONSUMER_GROUP : undefined)
      // A topic may be given more partitions at any time; until someone reads them, they hold the tidemark back.
      everyPartition = [...new Set([...everyPartition, ...ends.keys()])].filter(isOfDocuments)
      return ends
    },
    refresh: () => refresh(elasticsearch, config.INDEX_PREFIX),
    commit: (positions) => consumer.commit(positions),
    publish: async (marks) => {
      if (!hasAppendTimes) return
      const relevant = new Map([...marks].filter(([name]) => everyPartition.includes(name)))
      await publishTidemark(redis.client, keys, everyPartition, relevant)
    },
    isBehind: () => budget.takenBytes > budget.maxBytes / 2,
    clock,
    log,
  })

  const prepare = async (): Promise<void> => {
    await wait('connecting to Kafka', async () => {
      await admin.connect()
      await producer.connect()
    })
    hasAppendTimes = await wait('preparing topics', () => ensureTopics(admin, config, log))
    await wait('preparing indices', () => createIndices(elasticsearch, config.INDEX_PREFIX, signal))
    if (!hasAppendTimes) await wait('withdrawing the tidemark', () => withdrawTidemark(redis.client, keys))
  }

  let isPrepared = false
  const running = prepare().then(async () => {
    isPrepared = true
    await Promise.all([
      consumer.run(),
      publisher.run(signal),
      keepKeyView({ kafka, topic: config.TOPIC_ACCOUNT_KEYS, view, log, signal }),
    ])
  })
  running.catch((error: unknown) => {
    if (!signal.aborted) fail(error)
  })
  release('consumer', async () => {
    consumer.pause()
    const deadline = AbortSignal.timeout(drainDeadlineMs)
    while (budget.takenBytes > 0 && !deadline.aborted) await sleep(drainPollMs)
    try {
      if (isPrepared) await publisher.publish()
    } finally {
      await consumer.leave()
    }
  })

  return async () => {
    const problems = [waitingFor, writerTrouble, publisher.trouble(), consumer.trouble()].filter(
      (each) => each !== undefined,
    )
    if (problems.length === 0 && !(await view.isComplete())) problems.push('account keys are not folded yet')
    return problems
  }
}

async function refresh(client: Client, prefix: string): Promise<void> {
  const index = documentKinds.map((kind) => aliasOf(prefix, kind))
  const { _shards: shards } = await client.indices.refresh({ index }, { requestTimeout: refreshTimeoutMs })
  if (shards !== undefined && shards.failed > 0) throw new Error(`refresh failed on ${shards.failed} shards`)
}

async function partitionEnds(
  admin: Admin,
  topics: readonly string[],
  committedByGroup: string | undefined,
): Promise<Map<string, PartitionEnds>> {
  const committed = new Map<string, bigint>()
  if (committedByGroup !== undefined) {
    for (const { topic, partitions } of await admin.fetchOffsets({ groupId: committedByGroup, topics: [...topics] }))
      for (const { partition, offset } of partitions) committed.set(nameOf(topic, partition), BigInt(offset))
  }
  const ends = new Map<string, PartitionEnds>()
  for (const topic of topics)
    for (const { partition, low, high } of await admin.fetchTopicOffsets(topic))
      ends.set(nameOf(topic, partition), {
        low: BigInt(low),
        high: BigInt(high),
        committed: committed.get(nameOf(topic, partition)),
      })
  return ends
}
