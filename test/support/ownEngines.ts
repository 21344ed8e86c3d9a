import { rm } from 'node:fs/promises'
import {
  type Cluster,
  type Engine,
  type EngineName,
  engineNames,
  startCluster,
  startEngines,
  variableOf,
} from '../../tools/engines/engines.ts'
import { temporaryFolder } from './temporaryFolder.ts'

const startDeadlineMs = 180_000
/** Longer than for a single node: three need three times the CPU to start. */
export const clusterDeadlineMs = 420_000

/** Engines of one test file alone, as processes, because a container daemon would restart them or hide their failures. */
export type OwnEngines = {
  readonly urls: Readonly<Record<string, string>>
  engine(name: EngineName): Engine
  stop(): Promise<void>
}

type Special = Partial<Pick<Parameters<typeof startEngines>[0], 'quick' | 'adapt' | 'host'>>

/** Starts engines in addition to the shared ones. */
export async function startBeside(names: readonly EngineName[], special: Special): Promise<OwnEngines> {
  const folder = await temporaryFolder('tidemark-engines-')
  const engines = await startEngines({
    ...{ folder, distributions: 'var/engines', clean: true, quick: true },
    external: othersThan(names),
    signal: AbortSignal.timeout(startDeadlineMs),
    ...special,
  })
  return {
    urls: engines.urls,
    engine: (name) => {
      const engine = engines[name]
      if (engine === undefined) throw new Error(`${name} was not started`)
      return engine
    },
    stop: async () => {
      await engines.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts engines (by default all), and sets their URLs for this process and its children. */
export async function startOwnEngines(
  names: readonly EngineName[] = engineNames,
  special: Special = {},
): Promise<OwnEngines> {
  const own = await startBeside(names, special)
  Object.assign(process.env, own.urls)
  return own
}

/**
 * Starts an Elasticsearch with 512 MiB of heap and default circuit breakers and garbage collector, as in a small container. Its quicker compiler is
 * enough for minutes.
 */
export const startSmallElasticsearch = (): Promise<OwnEngines> =>
  startOwnEngines(['elasticsearch'], {
    quick: false,
    adapt: (definition) => ({
      ...definition,
      prepare: async (port, signal) => {
        const command = await definition.prepare(port, signal)
        return {
          ...command,
          args: [...command.args, '-Eindices.breaker.total.use_real_memory=true'],
          env: { ...command.env, ES_JAVA_OPTS: '-Xms512m -Xmx512m -XX:TieredStopAtLevel=1' },
        }
      },
    }),
  })

/** Starts three nodes of engines (by default all), and sets their URLs for this process and its children. */
export async function startOwnCluster(only: readonly EngineName[] = engineNames): Promise<Cluster> {
  const folder = await temporaryFolder('tidemark-cluster-')
  const others = othersThan(only)
  const cluster = await startCluster({
    ...{ folder, distributions: 'var/engines', clean: true, quick: true },
    only,
    signal: AbortSignal.timeout(clusterDeadlineMs),
  })
  Object.assign(process.env, cluster.urls, others)
  return {
    ...cluster,
    stop: async () => {
      await cluster.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The URLs of the other engines. */
const othersThan = (names: readonly EngineName[]): Record<string, string> =>
  Object.fromEntries(
    engineNames
      .filter((name) => !names.includes(name))
      .map((name) => [variableOf[name], process.env[variableOf[name]] ?? '']),
  )
