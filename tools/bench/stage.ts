import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@elastic/elasticsearch'
import { Redis } from 'ioredis'
import type { Config } from '../../src/core/config/config.ts'
import { connectElasticsearch } from '../../src/core/elasticsearch/elasticsearch.ts'
import { configOrExit } from '../../src/core/process/lifecycle.ts'
import { failWhenEnded, startService } from '../demo/services.ts'
import { elasticsearchDistribution } from '../engines/elasticsearch.ts'
import { type EngineUrls, failWhenEngineEnds, startEngines } from '../engines/engines.ts'
import { kafkaDistribution } from '../engines/kafka.ts'
import type { CpuMs } from './load.ts'
import { groupCpuMs } from './usage.ts'

/** The environment of a bench: its own engines, empty at first, and the processes that it starts. */
export type Stage = {
  readonly folder: string
  readonly logsFolder: string
  readonly urls: EngineUrls
  /** The configuration of this process, with the engines of the stage. */
  readonly config: Config
  readonly client: Client
  readonly environment: Readonly<Record<string, string>>
  readonly versions: readonly string[]
  /** Aborts when the bench is to end, or when an engine or process has ended. */
  readonly signal: AbortSignal
  /** Starts one of the project's processes, which ends with the stage at the latest. */
  start(
    name: 'indexer' | 'api',
    environment: Readonly<Record<string, string>>,
    logsFolder?: string,
  ): Promise<{ readonly pid: number; stop(): Promise<void> }>
  serves(origin: string, pid: number): void
  /** CPU times (ms) of the process that serves an origin, with its children, and of Elasticsearch. */
  cpuMsOf(origin: string): CpuMs
  /** Called at the end of the bench; last in, first out. */
  release(releaser: () => Promise<void>): void
}

/**
 * Runs `bench` on engines with full compilers. Then, also after an error, ends every started process, and removes all files but logs. Rejects with
 * the reason of `stopped` if that aborts.
 */
export async function onStage<T>(
  folder: string,
  distributions: string,
  stopped: AbortSignal,
  bench: (stage: Stage) => Promise<T>,
): Promise<T> {
  const engines = await startEngines({
    folder,
    distributions,
    clean: true,
    quick: false,
    progress: process.stdout,
    signal: stopped,
  })
  await using kept = new AsyncDisposableStack()
  for (const { dataFolder } of engines.started) kept.defer(() => rm(dataFolder, { recursive: true, force: true }))
  kept.defer(() => engines.stop())
  const failed = new AbortController()
  const signal = AbortSignal.any([stopped, failed.signal])
  const logsFolder = join(folder, 'logs')
  const { urls } = engines
  const environment = { ...urls, ADMIN_PORT: '0' }
  const config = await configFor(urls)
  const client = connectElasticsearch(config)
  kept.defer(() => client.close())
  const release: Stage['release'] = (releaser) => {
    kept.defer(releaser)
  }
  const start: Stage['start'] = async (name, more, logs = logsFolder) => {
    const service = await startService(name, { environment: { ...environment, ...more }, logsFolder: logs, signal })
    let isStopped = false
    const stop = async (): Promise<void> => {
      isStopped = true
      await service.program.stop()
    }
    release(stop)
    failWhenEnded(service).catch((error: unknown) => {
      if (!isStopped) failed.abort(error)
    })
    return { pid: service.program.pid, stop }
  }
  const versions = await versionsOf(urls)
  const pids = new Map(engines.started.map(({ url, pid }) => [url, pid]))
  const cpuOf = (origin: string): number | undefined => groupCpuMs(pids.get(origin) ?? Number.NaN)
  const stage: Stage = {
    folder,
    logsFolder,
    urls,
    config,
    client,
    environment,
    versions,
    signal,
    start,
    serves: (origin, pid) => pids.set(origin, pid),
    cpuMsOf: (origin) => ({ server: cpuOf(origin), elasticsearch: cpuOf(urls.ELASTICSEARCH_URL) }),
    release,
  }
  failWhenEngineEnds(engines).catch((error: unknown) => failed.abort(error))
  try {
    return await bench(stage)
  } catch (error) {
    // Reports the engine or process that has ended first, not the failures that follow.
    signal.throwIfAborted()
    throw error
  }
}

const configFor = async (urls: EngineUrls): Promise<Config> => ({
  ...(await configOrExit([])),
  ELASTICSEARCH_URL: [urls.ELASTICSEARCH_URL],
  KAFKA_BROKERS: urls.KAFKA_BROKERS.split(','),
  REDIS_URL: urls.REDIS_URL,
})

async function versionsOf({ REDIS_URL }: EngineUrls): Promise<string[]> {
  const redis = new Redis(REDIS_URL)
  const about = await redis.info('server').finally(() => redis.disconnect())
  return [elasticsearchDistribution.name, kafkaDistribution.name, `redis-${/^redis_version:(\S+)/m.exec(about)?.[1]}`]
}
