import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Client } from '@elastic/elasticsearch'
import { jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { type Admin, ConfigResourceTypes, type Kafka, type PartitionMetadata } from 'kafkajs'
import { pino } from 'pino'
import { ensureTopics } from '../../indexer/topics.ts'
import { connectKafka } from '../../src/core/kafka/client.ts'
import { type KafkaSink, kafkaSink } from '../../src/core/kafka/sink.ts'
import { kafkaSource, type OffsetRange } from '../../src/core/kafka/source.ts'
import type { SourceRecord } from '../../src/core/kafka/sourceRecord.ts'
import { connectElasticsearch, connectElasticsearchBytes } from '../../src/core/stores/elasticsearch.ts'
import { isolatedNodesAnswerNothing } from '../../src/core/stores/readinessChecks.ts'
import type { Cluster, Engine } from '../../tools/engines/engines.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { areInSync, isElasticsearchWhole, isRedisWhole, sentinelAddresses } from '../support/clusterHealth.ts'
import { testConfig } from '../support/config.ts'
import { clusterDeadlineMs, startOwnCluster } from '../support/ownEngines.ts'

/** Of a wait for an election, a failover or a copy, on a machine that does other things as well. */
const deadlineMs = 120_000
jest.setTimeout(clusterDeadlineMs)

const { signal } = new AbortController()
const index = 'tidemark-forms'
let cluster: Cluster
let elasticsearch: Client
let admin: Admin
let kafka: Kafka
let redis: Redis
let sink: KafkaSink

beforeAll(async () => {
  cluster = await startOwnCluster()
  const { urls } = cluster
  elasticsearch = new Client({ node: urls.ELASTICSEARCH_URL.split(','), maxRetries: 5, requestTimeout: 60_000 })
  kafka = connectKafka(testConfig({}), pino({ level: 'silent' }))
  sink = kafkaSink(kafka)
  admin = kafka.admin()
  await admin.connect()
  await sink.connect()
  redis = new Redis({ sentinels: sentinelAddresses(urls), name: urls.REDIS_SENTINEL_NAME })
  redis.on('error', () => undefined)
}, clusterDeadlineMs)

afterAll(async () => {
  redis?.disconnect()
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

const at = (engines: readonly Engine[], url: string): Engine => {
  const found = engines.find((engine) => engine.url === url)
  if (found === undefined) throw new Error(`no engine is at ${url}`)
  return found
}

describe('Elasticsearch', () => {
  type Shard = { readonly prirep: string; readonly state: string; readonly node: string }
  const shards = async (): Promise<Shard[]> =>
    (await elasticsearch.cat.shards({ index, format: 'json' })) as unknown as Shard[]
  const isWhole = (): Promise<boolean> => isElasticsearchWhole(elasticsearch)
  const write = (id: string): Promise<unknown> =>
    elasticsearch.index({ index, id, routing: 'team', document: { teamId: 'team' }, timeout: '1s' })
  const found = async (): Promise<number> => {
    await elasticsearch.indices.refresh({ index })
    const { hits, _shards } = await elasticsearch.search({ index, size: 0, track_total_hits: true })
    return _shards.failed > 0 ? -1 : (hits.total as { value: number }).value
  }

  test('an index as the indexer creates it has a copy on another node', async () => {
    const { settings, mappings } = JSON.parse(await readFile('mappings/forms.json', 'utf8'))
    await elasticsearch.indices.create({ index, settings, mappings })
    await until(isWhole)
    const copies = await shards()
    expect(copies.map(({ prirep, state }) => `${prirep} ${state}`).sort()).toEqual(['p STARTED', 'r STARTED'])
    expect(new Set(copies.map(({ node }) => node)).size).toBe(2)
  })

  test('is not ready for an indexer or an API unless a node without its master answers nothing', async () => {
    const clients = [connectElasticsearch, connectElasticsearchBytes].map((connect) =>
      connect(testConfig({ ELASTICSEARCH_URL: cluster.urls.ELASTICSEARCH_URL })),
    )
    const problems = (): Promise<(string | undefined)[]> =>
      Promise.all(clients.map((client) => isolatedNodesAnswerNothing(client)(AbortSignal.timeout(deadlineMs))))
    const setBlock = (kind: 'persistent' | 'transient', value: string | null): Promise<unknown> =>
      elasticsearch.cluster.putSettings({ [kind]: { 'cluster.no_master_block': value } })
    const wrong = 'cluster.no_master_block is write, but must be all in a cluster of 3 nodes'

    // By elasticsearch.yml alone.
    expect(await problems()).toEqual([undefined, undefined])
    await setBlock('persistent', 'write')
    expect(await problems()).toEqual([expect.stringContaining(wrong), expect.stringContaining(wrong)])
    await setBlock('transient', 'all')
    expect(await problems()).toEqual([undefined, undefined])
    await setBlock('transient', null)
    await setBlock('persistent', null)
    expect(await problems()).toEqual([undefined, undefined])
    await Promise.all(clients.map((client) => client.close()))
  })

  test('the node of the primary is killed: reads and writes go on; it comes back, and the cluster is whole', async () => {
    await write('before')
    const primary = (await shards()).find(({ prirep }) => prirep === 'p')?.node
    const node = cluster.elasticsearch.find(({ name }) => name === primary) as Engine
    await kill(node)
    await until(async () => (await write('while away')) !== undefined)
    await until(async () => (await found()) === 2)
    expect((await elasticsearch.cluster.health()).status).not.toBe('red')

    await node.start()
    await until(isWhole)
    expect(await found()).toBe(2)
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
    const missing = new Set(acknowledged)
    const source = kafkaSource(kafka)
    const onRecord = async ({ value }: SourceRecord): Promise<void> => {
      missing.delete(String(value))
    }
    await source.readTopic({ topic, signal: AbortSignal.timeout(deadlineMs), onRecord })
    await source.close()
    return [...missing]
  }
  const expectNothingLost = async (): Promise<void> => {
    let missing: string[] | undefined
    // A broker that has just become the leader may not answer yet.
    await until(async () => {
      missing = await lost()
      return true
    })
    expect(missing).toEqual([])
  }
  const leader = async (): Promise<Engine> => {
    const id = (await partitions())[0]?.leader
    return cluster.kafka.find(({ name }) => name === `kafka-${id}`) as Engine
  }

  test('topics as the indexer creates them have three copies in sync, of which two must acknowledge', async () => {
    const source = kafkaSource(kafka)
    expect(await ensureTopics(source, testConfig({}), pino({ level: 'silent' }))).toMatchObject({
      hasAppendTimes: true,
      forgetful: {},
    })
    await source.close()
    await until(() => inSync(3))
    expect((await partitions()).every(({ replicas }) => replicas.length === 3)).toBe(true)
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['min.insync.replicas'] }],
    })
    expect(resources[0]?.configEntries[0]?.configValue).toBe('2')
  })

  test('the leader is killed: appends go on, nothing acknowledged is lost; it comes back in sync', async () => {
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
    await expectNothingLost()
  })

  test('the leader is frozen: reads and appends go on, nothing acknowledged is lost; it wakes up and is in sync', async () => {
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
    await expectNothingLost()
  })
})

describe('Redis', () => {
  const askSentinel = async <T>(...words: string[]): Promise<T> => {
    const address = cluster.sentinels.find(({ url }) => url.endsWith(`:${redisSentinelPort}`))?.url ?? ''
    const client = new Redis(address, { maxRetriesPerRequest: 1 })
    try {
      return (await client.call('SENTINEL', ...words)) as T
    } finally {
      client.disconnect()
    }
  }
  let redisSentinelPort = ''
  const master = async (): Promise<Engine> => {
    const [host, port] = await askSentinel<string[]>('GET-MASTER-ADDR-BY-NAME', cluster.urls.REDIS_SENTINEL_NAME)
    return at(cluster.redis, `redis://${host}:${port}`)
  }
  const isWhole = (): Promise<boolean> => isRedisWhole(redis)
  beforeAll(() => {
    redisSentinelPort = String(sentinelAddresses(cluster.urls)[0]?.port)
  })

  test('the Sentinels name the master, which has a replica', async () => {
    expect((await master()).url).toBe(cluster.urls.REDIS_URL)
    await until(isWhole)
    await until(async () =>
      (await askSentinel<string>('CKQUORUM', cluster.urls.REDIS_SENTINEL_NAME)).startsWith('OK 3'),
    )
  })

  test('the master is killed: its replica takes over with its data; it comes back as the replica', async () => {
    await redis.set('before', 'kept')
    expect(await redis.wait(1, deadlineMs)).toBe(1)
    const before = await master()
    await kill(before)
    await until(async () => (await master()) !== before)
    await until(async () => (await redis.set('while away', 'kept')) === 'OK')
    expect(await redis.get('before')).toBe('kept')

    await before.start()
    await until(isWhole)
    expect(await master()).not.toBe(before)
    expect(await redis.wait(1, deadlineMs)).toBe(1)
    const returned = new Redis(before.url)
    await until(async () => (await returned.mget('before', 'while away')).join() === 'kept,kept')
    returned.disconnect()
  })

  test('a Sentinel is killed: the two others still agree; it comes back and knows the master', async () => {
    const sentinel = cluster.sentinels[1] as Engine
    const current = await master()
    await kill(sentinel)
    await until(async () =>
      (await askSentinel<string>('CKQUORUM', cluster.urls.REDIS_SENTINEL_NAME)).startsWith('OK 2'),
    )
    await sentinel.start()
    await until(async () =>
      (await askSentinel<string>('CKQUORUM', cluster.urls.REDIS_SENTINEL_NAME)).startsWith('OK 3'),
    )
    redisSentinelPort = new URL(sentinel.url).port
    expect(await master()).toBe(current)
  })
})
