import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Client } from '@elastic/elasticsearch'
import { jest } from '@jest/globals'
import { type Admin, ConfigResourceTypes, type Kafka, type PartitionMetadata } from 'kafkajs'
import { pino } from 'pino'
import { ensureTopics, type TopicRules } from '../../indexer/topics.ts'
import { connectElasticsearch } from '../../src/core/elasticsearch/elasticsearch.ts'
import { isolatedNodesAnswerNothing } from '../../src/core/engines/readinessChecks.ts'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { type KafkaSink, kafkaSink } from '../../src/core/kafka/sink.ts'
import { kafkaSource, type OffsetRange } from '../../src/core/kafka/source.ts'
import { type CheckOutcome, failed, passed } from '../../src/core/monitoring/health.ts'
import type { Cluster, Engine } from '../../tools/engines/engines.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { areInSync, isElasticsearchWhole } from '../support/clusterHealth.ts'
import { testConfig } from '../support/config.ts'
import { clusterDeadlineMs, startOwnCluster } from '../support/ownEngines.ts'
import { exampleInput, runProducerExample, unansweredCommit } from '../support/producerExample.ts'
import { recordsOf } from '../support/topics.ts'

/** Of a wait for an election, a failover or a copy, on a machine that does other things as well. */
const deadlineMs = 120_000
jest.setTimeout(clusterDeadlineMs)

const { signal } = new AbortController()
const index = 'tidemark-forms'
let cluster: Cluster
let elasticsearch: Client
let admin: Admin
let kafka: Kafka
let sink: KafkaSink

beforeAll(async () => {
  cluster = await startOwnCluster(['elasticsearch', 'kafka'])
  elasticsearch = new Client({ node: cluster.urls.ELASTICSEARCH_URL.split(','), maxRetries: 5, requestTimeout: 60_000 })
  kafka = connectKafka(testConfig({}), pino({ level: 'silent' }))
  sink = kafkaSink(kafka)
  admin = kafka.admin()
  await admin.connect()
}, clusterDeadlineMs)

afterAll(async () => {
  await Promise.allSettled([admin?.disconnect(), sink?.disconnect(), elasticsearch?.close()])
  await cluster?.stop()
})

/** A request that fails while nodes change roles is made again. */
const until = async (condition: () => Promise<boolean>): Promise<void> => {
  let lastError: unknown
  const holds = (): Promise<boolean> =>
    condition().catch((error: unknown) => {
      lastError = error
      return false
    })
  if (!(await waitUntil(holds, { deadlineMs, signal })))
    throw new Error(`does not come true: ${condition}`, { cause: lastError })
}

const kill = async (engine: Engine): Promise<void> => {
  engine.kill('SIGKILL')
  expect(await engine.ended()).toBe('was ended by SIGKILL')
}

describe('Elasticsearch', () => {
  type Shard = { readonly prirep: string; readonly state: string; readonly node: string }
  const shards = async (): Promise<Shard[]> =>
    (await elasticsearch.cat.shards({ index, format: 'json' })) as unknown as Shard[]

  test('an index that the indexer creates has a copy on another node', async () => {
    const { settings, mappings } = JSON.parse(await readFile('mappings/forms.json', 'utf8'))
    await elasticsearch.indices.create({ index, settings, mappings })
    await until(() => isElasticsearchWhole(elasticsearch))
    const copies = await shards()
    expect(copies.map(({ prirep, state }) => `${prirep} ${state}`).sort()).toEqual(['p STARTED', 'r STARTED'])
    expect(new Set(copies.map(({ node }) => node)).size).toBe(2)
  })

  test('indexer and API are ready only if nodes that lost their master refuse searches', async () => {
    const client = connectElasticsearch(testConfig({ ELASTICSEARCH_URL: cluster.urls.ELASTICSEARCH_URL }))
    const check = (): Promise<CheckOutcome> => isolatedNodesAnswerNothing(client)(AbortSignal.timeout(deadlineMs))
    const setBlock = (kind: 'persistent' | 'transient', value: string | null): Promise<unknown> =>
      elasticsearch.cluster.putSettings({ [kind]: { 'cluster.no_master_block': value } })
    const wrong = 'cluster.no_master_block is write, but must be all in a cluster of 3 nodes'

    // By elasticsearch.yml alone.
    expect(await check()).toEqual(passed)
    await setBlock('persistent', 'write')
    expect(await check()).toEqual(failed(expect.stringContaining(wrong)))
    await setBlock('transient', 'all')
    expect(await check()).toEqual(passed)
    await setBlock('transient', null)
    await setBlock('persistent', null)
    expect(await check()).toEqual(passed)
    await client.close()
  })
})

describe('Kafka', () => {
  const topic = 'forms'
  const partitions = async (): Promise<PartitionMetadata[]> =>
    (await admin.fetchTopicMetadata({ topics: [topic] })).topics.flatMap((each) => each.partitions)
  const inSync = (count: number): Promise<boolean> => areInSync(admin, count, [topic])
  const acknowledged = new Set<string>()
  /** By the same sink all the time, as the settings area and the indexers keep theirs. */
  const append = async (): Promise<boolean> => {
    const records = Array.from({ length: 12 }, () => ({ topic, key: randomUUID(), value: randomUUID() }))
    await sink.append(records)
    for (const { value } of records) acknowledged.add(value)
    return true
  }
  const appendUntil = async (stopped: AbortSignal): Promise<void> => {
    while (!stopped.aborted) await append().catch(() => false)
  }
  const lost = async (): Promise<string[]> => {
    const present = new Set((await recordsOf(kafka, topic)).map(({ value }) => String(value)))
    return [...acknowledged].filter((value) => !present.has(value))
  }
  /** A broker that has just become the leader may not answer yet. */
  const answered = async <T>(ask: () => Promise<T>): Promise<T> => {
    let answer: T | undefined
    await until(async () => {
      answer = await ask()
      return true
    })
    return answer as T
  }
  const leader = async (): Promise<Engine> => {
    const id = (await partitions())[0]?.leader
    return cluster.kafka.find(({ name }) => name === `kafka-${id}`) as Engine
  }

  let rules: TopicRules
  beforeAll(async () => {
    const source = kafkaSource(kafka)
    rules = await ensureTopics(source, testConfig({}), pino({ level: 'silent' }))
    await source.close()
    await until(() => inSync(3))
  }, clusterDeadlineMs)

  test('topics that the indexer creates have three in-sync replicas, two of which must acknowledge', async () => {
    expect(rules).toMatchObject({ hasAppendTimes: true, wrongPolicies: {} })
    expect((await partitions()).every(({ replicas }) => replicas.length === 3)).toBe(true)
    const asked = { type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['min.insync.replicas'] }
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [asked] })
    expect(resources[0]?.configEntries[0]?.configValue).toBe('2')
  })

  test('when a leader is killed, appends continue and no acknowledged record is lost; after its restart it is in sync', async () => {
    await until(append)
    const stop = new AbortController()
    const writing = appendUntil(stop.signal)
    const broker = await leader()
    await kill(broker)
    await until(() => inSync(2))
    await until(append)
    await broker.start()
    await until(() => inSync(3))
    stop.abort()
    await writing
    expect(await answered(lost)).toEqual([])
  })

  test('while a leader is frozen, reads and appends continue and no acknowledged record is lost; afterwards it is in sync', async () => {
    const source = kafkaSource(kafka)
    const ranges = (): Promise<ReadonlyMap<string, OffsetRange>> => source.offsetRanges([topic])
    const { size } = await ranges()
    const broker = await leader()
    broker.kill('SIGSTOP')
    await until(() => inSync(2))
    await until(append)
    await until(async () => (await ranges()).size === size)
    broker.kill('SIGCONT')
    await source.close()
    await until(() => inSync(3))
    expect(await answered(lost)).toEqual([])
  })

  test('the example producer loses or halves no transaction when a commit gets no answer and a broker is killed', async () => {
    const topics = ['forms', 'submissions']
    const changes = Array.from({ length: 60 }, (_, at) => [1, 2, 3].map((copy) => `acme/e${at}-${copy}`))
    const keys = changes.flat().sort()
    const keysIn = async (of: string): Promise<string[]> =>
      [...new Set((await recordsOf(kafka, of, keys)).map(({ key }) => String(key)))].sort()
    const written = (key: string) => topics.map((of) => ({ topic: of, key, value: { revision: 1 } }))
    const transactions = changes.map((some) => some.flatMap(written))
    const said = runProducerExample(cluster.urls.KAFKA_BROKERS, 'x', exampleInput(transactions), unansweredCommit)
    said.catch(() => undefined)
    await until(async () => (await keysIn('submissions')).length > 30)
    await kill(await leader())
    expect(await said).toBe('')
    for (const of of topics) expect(await answered(() => keysIn(of))).toEqual(keys)
  })
})
