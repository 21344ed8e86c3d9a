import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Cluster,
  type Engine,
  type EngineName,
  type Engines,
  type EngineUrls,
  startCluster,
  startEngines,
} from '../../tools/engines/engines.ts'
import { temporaryFolder } from './temporaryFolder.ts'

export const startDeadlineMs = 180_000
/** Three nodes take three times the CPU of one to start. */
export const clusterDeadlineMs = 420_000

/** Engines that no other test misses, as processes: what a container's daemon would restart or hide cannot be tested. */
export type OwnEngines = { engine(name: EngineName): Engine; stop(): Promise<void> }

export type OwnRedis = { readonly redis: Engine; stop(): Promise<void> }

/** Starts all three and leads this process and what it starts to them. */
export async function startOwnEngines(): Promise<OwnEngines> {
  const { engines, stop } = await startIn({})
  return { engine: (name) => started(engines, name), stop }
}

/** Starts three nodes of each engine and leads this process and what it starts to them. */
export const startOwnCluster = (): Promise<Cluster> => startClusterIn(['elasticsearch', 'kafka', 'redis'])

/** Starts three brokers, and leads this process to them. */
export const startOwnBrokers = (): Promise<Cluster> => startClusterIn(['kafka'])

/**
 * Starts a Redis master, its replica and three Sentinels beside the Elasticsearch and the Kafka of all tests, and leads this process
 * to them.
 */
export async function startOwnReplicatedRedis(): Promise<Cluster> {
  const { ELASTICSEARCH_URL, KAFKA_BROKERS } = process.env
  const cluster = await startClusterIn(['redis'])
  Object.assign(process.env, { ELASTICSEARCH_URL, KAFKA_BROKERS })
  return cluster
}

async function startClusterIn(only: readonly EngineName[]): Promise<Cluster> {
  const folder = await temporaryFolder('tidemark-cluster-')
  const cluster = await startCluster({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: true,
    only,
    signal: AbortSignal.timeout(clusterDeadlineMs),
  })
  Object.assign(process.env, cluster.urls)
  return {
    ...cluster,
    stop: async () => {
      await cluster.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a Redis beside the Elasticsearch and the Kafka of all tests, and leads this process to it. */
export async function startOwnRedis(): Promise<OwnRedis> {
  const { ELASTICSEARCH_URL = '', KAFKA_BROKERS = '' } = process.env
  const { engines, stop } = await startIn({ ELASTICSEARCH_URL, KAFKA_BROKERS })
  return { redis: started(engines, 'redis'), stop }
}

export type OwnKafka = {
  readonly kafka: Engine
  /** The file that holds the first records of a partition. */
  logFile(topic: string, partition: number): string
  stop(): Promise<void>
}

/** Starts a Kafka, with `environment`, beside the Elasticsearch and the Redis of all tests, and leads this process to it. */
export async function startOwnKafka(environment: Readonly<Record<string, string>> = {}): Promise<OwnKafka> {
  const { ELASTICSEARCH_URL = '', REDIS_URL = '' } = process.env
  const { engines, folder, stop } = await startIn({ ELASTICSEARCH_URL, REDIS_URL }, environment)
  return {
    kafka: started(engines, 'kafka'),
    logFile: (topic, partition) =>
      join(folder, 'data', 'kafka', 'log', `${topic}-${partition}`, '00000000000000000000.log'),
    stop,
  }
}

async function startIn(
  external: Partial<EngineUrls>,
  environment: Readonly<Record<string, string>> = {},
): Promise<{ engines: Engines; folder: string; stop(): Promise<void> }> {
  const folder = await temporaryFolder('tidemark-fault-')
  const engines = await startEngines({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: true,
    external,
    adapt: (definition) => ({
      ...definition,
      prepare: async (port, signal) => {
        const command = await definition.prepare(port, signal)
        return { ...command, env: { ...command.env, ...environment } }
      },
    }),
    signal: AbortSignal.timeout(startDeadlineMs),
  })
  Object.assign(process.env, engines.urls)
  return {
    engines,
    folder,
    stop: async () => {
      await engines.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function started(engines: Engines, name: EngineName): Engine {
  const found = engines[name]
  if (found === undefined) throw new Error(`${name} was not started`)
  return found
}

export type OwnElasticsearch = { readonly elasticsearch: Engine; stop(): Promise<void> }

/**
 * Starts an Elasticsearch of 512 MiB of heap with its own breakers and garbage collector, as in a small container, beside the Kafka and the
 * Redis of all tests, and leads this process to it.
 */
export async function startSmallElasticsearch(): Promise<OwnElasticsearch> {
  const { KAFKA_BROKERS = '', REDIS_URL = '' } = process.env
  const folder = await temporaryFolder('tidemark-small-')
  const engines = await startEngines({
    folder,
    distributions: 'var/engines',
    clean: true,
    quick: false,
    external: { KAFKA_BROKERS, REDIS_URL },
    adapt: (definition) => ({
      ...definition,
      prepare: async (port, signal) => {
        const command = await definition.prepare(port, signal)
        const args = [...command.args, '-Eindices.breaker.total.use_real_memory=true']
        return { ...command, args, env: { ...command.env, ES_JAVA_OPTS: '-Xms512m -Xmx512m' } }
      },
    }),
    signal: AbortSignal.timeout(startDeadlineMs),
  })
  Object.assign(process.env, engines.urls)
  return {
    elasticsearch: started(engines, 'elasticsearch'),
    stop: async () => {
      await engines.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
