import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type Cluster,
  type Engine,
  type EngineDefinition,
  type EngineName,
  type Engines,
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
  const { engines, stop } = await startLeading({})
  return { engine: (name) => of(engines, name), stop }
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
  const { engines, stop } = await startLeading({ external: { ELASTICSEARCH_URL, KAFKA_BROKERS } })
  return { redis: of(engines, 'redis'), stop }
}

export type OwnKafka = {
  readonly kafka: Engine
  /** The file that holds the first records of a partition. */
  logFile(topic: string, partition: number): string
  stop(): Promise<void>
}

/** Starts a Kafka beside the Elasticsearch and the Redis of all tests, and leads this process to it. */
export async function startOwnKafka(): Promise<OwnKafka> {
  const { ELASTICSEARCH_URL = '', REDIS_URL = '' } = process.env
  const { engines, folder, stop } = await startLeading({ external: { ELASTICSEARCH_URL, REDIS_URL } })
  return {
    kafka: of(engines, 'kafka'),
    logFile: (topic, partition) =>
      join(folder, 'data', 'kafka', 'log', `${topic}-${partition}`, '00000000000000000000.log'),
    stop,
  }
}

export type OwnElasticsearch = { readonly elasticsearch: Engine; stop(): Promise<void> }

/**
 * Starts an Elasticsearch of 512 MiB of heap with its own breakers and garbage collector, as in a small container, beside the Kafka and the
 * Redis of all tests, and leads this process to it.
 */
export async function startSmallElasticsearch(): Promise<OwnElasticsearch> {
  const { KAFKA_BROKERS = '', REDIS_URL = '' } = process.env
  const { engines, stop } = await startLeading({
    external: { KAFKA_BROKERS, REDIS_URL },
    quick: false,
    adapt: started((command) => ({
      ...command,
      args: [...command.args, '-Eindices.breaker.total.use_real_memory=true'],
      env: { ...command.env, ES_JAVA_OPTS: '-Xms512m -Xmx512m' },
    })),
  })
  return { elasticsearch: of(engines, 'elasticsearch'), stop }
}

type Special = Partial<Pick<Parameters<typeof startEngines>[0], 'external' | 'quick' | 'adapt'>>
type Own = { readonly engines: Engines; readonly folder: string; stop(): Promise<void> }

/** Starts engines in a folder that goes with them. */
export async function startSpecial(special: Special): Promise<Own> {
  const folder = await temporaryFolder('tidemark-engines-')
  const signal = AbortSignal.timeout(startDeadlineMs)
  const usual = { folder, distributions: 'var/engines', clean: true, quick: true, signal }
  const engines = await startEngines({ ...usual, ...special })
  return {
    engines,
    folder,
    stop: async () => {
      await engines.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function startLeading(special: Special): Promise<Own> {
  const own = await startSpecial(special)
  Object.assign(process.env, own.engines.urls)
  return own
}

type Command = Awaited<ReturnType<EngineDefinition['prepare']>>

/** Engines whose command is another. */
const started =
  (change: (command: Command) => Command) =>
  (definition: EngineDefinition): EngineDefinition => ({
    ...definition,
    prepare: async (port, signal) => change(await definition.prepare(port, signal)),
  })

function of(engines: Engines, name: EngineName): Engine {
  const found = engines[name]
  if (found === undefined) throw new Error(`${name} was not started`)
  return found
}
