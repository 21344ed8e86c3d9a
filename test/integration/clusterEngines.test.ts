import { readFile } from 'node:fs/promises'
import { Client } from '@elastic/elasticsearch'
import { jest } from '@jest/globals'
import { Redis } from 'ioredis'
import { type Admin, ConfigResourceTypes, Kafka, logLevel, type PartitionMetadata } from 'kafkajs'
import { pino } from 'pino'
import { ensureTopics } from '../../indexer/topics.ts'
import { createProducer } from '../../src/core/stores/kafkaSink.ts'
import { kafkaSource } from '../../src/core/stores/kafkaSource.ts'
import type { Cluster, Engine } from '../../tools/engines/engines.ts'
import { waitUntil } from '../../tools/engines/waiting.ts'
import { testConfig } from '../support/config.ts'
import { clusterDeadlineMs, startOwnCluster } from '../support/ownEngines.ts'

/** Of a wait for an election, a failover or a copy, on a machine that does other things as well. */
const deadlineMs = 120_000
jest.setTimeout(clusterDeadlineMs)

const kafkaTimeoutMs = 5_000
const { signal } = new AbortController()
const index = 'tidemark-forms'
let cluster: Cluster
let elasticsearch: Client
let admin: Admin
let kafka: Kafka
let redis: Redis

beforeAll(async () => {
  cluster = await startOwnCluster()
  const { urls } = cluster
  elasticsearch = new Client({ node: urls.ELASTICSEARCH_URL.split(','), maxRetries: 5, requestTimeout: 60_000 })
  kafka = new Kafka({
    brokers: urls.KAFKA_BROKERS.split(','),
    connectionTimeout: kafkaTimeoutMs,
    requestTimeout: kafkaTimeoutMs,
    logLevel: logLevel.NOTHING,
  })
  admin = kafka.admin()
  await admin.connect()
  redis = new Redis({ sentinels: sentinelAddresses(), name: urls.REDIS_SENTINEL_NAME })
  redis.on('error', () => undefined)
}, clusterDeadlineMs)

afterAll(async () => {
  redis?.disconnect()
  await Promise.allSettled([admin?.disconnect(), elasticsearch?.close()])
  await cluster?.stop()
})

const sentinelAddresses = (): { host: string; port: number }[] =>
  cluster.urls.REDIS_SENTINELS.split(',').map((address) => {
    const [host = '', port] = address.split(':')
    return { host, port: Number(port) }
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
  const isWhole = async (): Promise<boolean> => {
    const { status, number_of_nodes } = await elasticsearch.cluster.health()
    return status === 'green' && number_of_nodes === 3
  }
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
  const inSync = async (count: number): Promise<boolean> =>
    (await partitions()).every(({ isr, leader }) => isr.length === count && leader >= 0)
  /** By a new producer each time: one that waits for a frozen leader asks for the new one only after minutes. */
  const appendToAll = async (): Promise<boolean> => {
    const producer = createProducer(kafka)
    try {
      await producer.connect()
      const messages = (await partitions()).map(({ partitionId }) => ({
        key: 'k',
        value: '{}',
        partition: partitionId,
      }))
      await producer.send({ topic, acks: -1, messages })
      appended += messages.length
      return true
    } finally {
      await producer.disconnect()
    }
  }
  /** At least so many records were acknowledged. */
  let appended = 0
  const held = async (): Promise<number> =>
    (await admin.fetchTopicOffsets(topic)).reduce((sum, { high }) => sum + Number(high), 0)
  const leader = async (): Promise<Engine> => {
    const id = (await partitions())[0]?.leader
    return cluster.kafka.find(({ name }) => name === `kafka-${id}`) as Engine
  }

  test('topics as the indexer creates them have three copies in sync, of which two must acknowledge', async () => {
    const source = kafkaSource(kafka)
    expect(await ensureTopics(source, testConfig({}), pino({ level: 'silent' }))).toBe(true)
    await source.close()
    await until(() => inSync(3))
    expect((await partitions()).every(({ replicas }) => replicas.length === 3)).toBe(true)
    const { resources } = await admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['min.insync.replicas'] }],
    })
    expect(resources[0]?.configEntries[0]?.configValue).toBe('2')
  })

  test('the leader is killed: appends go on with all acknowledgements; it comes back in sync', async () => {
    await until(appendToAll)
    const broker = await leader()
    await kill(broker)
    await until(() => inSync(2))
    await until(appendToAll)
    await broker.start()
    await until(() => inSync(3))
    expect(await held()).toBeGreaterThanOrEqual(appended)
  })

  test('the leader is frozen: appends go on; it wakes up and is in sync', async () => {
    const broker = await leader()
    broker.kill('SIGSTOP')
    await until(() => inSync(2))
    await until(appendToAll)
    broker.kill('SIGCONT')
    await until(() => inSync(3))
    expect(await held()).toBeGreaterThanOrEqual(appended)
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
  const isWhole = async (): Promise<boolean> => {
    const info = await redis.info('replication')
    return /^role:master/m.test(info) && /^slave0:.*state=online/m.test(info)
  }
  beforeAll(() => {
    redisSentinelPort = String(sentinelAddresses()[0]?.port)
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
