import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type ClusterPlan, planCluster } from './clusterPlan.ts'
import type { ReportFetch } from './distribution.ts'
import { type Engine, type EngineDefinition, type EngineName, engineNames, startEngine } from './engine.ts'
import { type ClusterUrls, type EngineUrls, untilReachable, variableOf, writeEnginesFile } from './engineUrls.ts'
import { lockOrRefuse, waitForLock } from './lock.ts'
import { ownUsers } from './network.ts'
import { accessibleFolder, unprivilegedUser } from './permissions.ts'
import { loopback } from './ports.ts'
import { type Progress, progressView } from './progress.ts'
import { sentinelName } from './redis.ts'
import { setUp } from './setup.ts'

export { type Engine, type EngineDefinition, type EngineName, engineNames } from './engine.ts'
export { type EngineUrls, externalEngines, variableOf } from './engineUrls.ts'

type ClusterOptions = {
  /** Contains data and logs. One set of engines runs in it at a time. */
  folder: string
  /** Where distributions are unpacked; several `folder`s may share it. By default `<folder>/engines`. */
  distributions?: string
  clean: boolean
  /** Whether a quick start (12 s instead of 19 s for all three) is worth less speed under load. */
  quick: boolean
  progress?: NodeJS.WriteStream
  /** Cancels the start. Without effect once the engines run. */
  signal: AbortSignal
}
type StartOptions = ClusterOptions & {
  /** Engines that run elsewhere, and are not started here. */
  external?: Partial<EngineUrls>
  /** The address at which clients reach the engines; loopback by default. */
  host?: string
  /** Changes each definition before the start, for example to turn on authentication. */
  adapt?: (definition: EngineDefinition) => EngineDefinition
}
/** On few cores, the C2 compiler and the threads of G1 compete with the start, and with tests. */
const quickFlags = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC']
const dataDeadlineMs = 20_000
const externalDeadlineMs = 10_000

type Running<Urls> = {
  readonly urls: Urls
  readonly started: readonly Engine[]
  stop(): Promise<void>
}
export type Engines = Running<EngineUrls> & Partial<Record<EngineName, Engine>>
export type Cluster = Running<ClusterUrls> & {
  readonly elasticsearch: readonly Engine[]
  readonly kafka: readonly Engine[]
  /** The first master, then its replica. */
  readonly redis: readonly Engine[]
  readonly sentinels: readonly Engine[]
}

/**
 * Starts Elasticsearch, Kafka and Redis, and resolves when all answer. While they run, `engines.env` in the folder has their URLs. They
 * end when this process ends, even by a kill.
 *
 * Rejects after the started engines are stopped: with UnsuitableSetUp if the machine lacks a program, and with the signal's reason if aborted. Any other
 * error names the process that already runs engines in the folder, or the engine that failed and the end of its log.
 */
export const startEngines = async (options: StartOptions): Promise<Engines> => {
  const { external = {} } = options
  const running = await runInFolder(options, async (folder, report) => {
    const missing = engineNames.filter((name) => external[variableOf[name]] === undefined)
    const others = engineNames.map((name) => (signal: AbortSignal) => {
      return untilExternalAnswers(name, external[variableOf[name]], report, signal)
    })
    const started = await startAll(missing, { ...options, folder, report, others })
    return { urls: urlsOf(started, external), started }
  })
  return { ...Object.fromEntries(running.started.map((engine) => [engine.name, engine])), ...running }
}

/**
 * Starts three Elasticsearch nodes, three brokers with three replicas of each partition, and a Redis master, its replica and three Sentinels.
 * Resolves when each node answers; replicas may not be complete yet.
 */
export const startCluster = async (
  options: ClusterOptions & {
    /** All by default. The URLs of the others do not answer. */
    only?: readonly EngineName[]
  },
): Promise<Cluster> => {
  const running = await runInFolder(options, async (folder, report) => {
    const dataFolder = await accessibleFolder(join(folder, 'data'), unprivilegedUser())
    const plan = await planCluster()
    const started = await startAll(options.only ?? engineNames, {
      ...options,
      folder,
      report,
      dataFolder,
      plan,
      adapt: ownUsers(),
    })
    return { urls: clusterUrlsOf(plan), started }
  })
  const nodesOf = (kind: string): Engine[] => running.started.filter(({ name }) => name.startsWith(`${kind}-`))
  return {
    ...running,
    elasticsearch: nodesOf('elasticsearch'),
    kafka: nodesOf('kafka'),
    redis: nodesOf('redis'),
    sentinels: nodesOf('sentinel'),
  }
}

const runInFolder = async <Urls extends EngineUrls>(
  options: ClusterOptions,
  start: (folder: string, report: Report) => Promise<Omit<Running<Urls>, 'stop'>>,
): Promise<Running<Urls>> => {
  const folder = resolve(options.folder)
  const { report, end } = progressView(options.progress)
  await mkdir(folder, { recursive: true })
  await using undo = new AsyncDisposableStack()
  const lock = await lockOrRefuse(
    join(folder, 'engines.lock'),
    (pid) => `The engines in ${folder} are in use: process ${pid} runs them. Stop it first.`,
  )
  undo.defer(() => lock.release())
  const file = join(folder, 'engines.env')
  await rm(file, { force: true })
  const { urls, started } = await start(folder, report).finally(end)
  undo.defer(() => stopAll(started))
  await writeEnginesFile(file, urls)
  undo.defer(() => rm(file, { force: true }))
  const running = undo.move()
  return { urls, started, stop: () => running.disposeAsync() }
}

/** Rejects when an engine ends, with its name, how it ended and the path of its log. */
export const failWhenEngineEnds = async ({ started }: Pick<Engines, 'started'>): Promise<never> => {
  const ended = started.map(async (engine): Promise<never> => {
    throw new Error(`${engine.name} ${await engine.ended()}; its log is ${engine.logPath}`)
  })
  // Without engines (all are external), this promise never settles.
  return Promise.race(ended)
}

const stopAll = async (engines: readonly Engine[]): Promise<void> => {
  await Promise.all(engines.map((engine) => engine.stop()))
}

type Report = (progress: Progress) => void
type StartAllOptions = Omit<StartOptions, 'external'> & {
  report: Report
  dataFolder?: string
  plan?: ClusterPlan
  others?: readonly ((signal: AbortSignal) => Promise<void>)[]
}

const startAll = async (names: readonly EngineName[], options: StartAllOptions): Promise<Engine[]> => {
  const { folder, plan, others = [], report, host = loopback, adapt = (definition) => definition } = options
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const folders = {
    data: options.dataFolder ?? join(folder, 'data'),
    logs: join(folder, 'logs'),
    distributions: resolve(options.distributions ?? join(folder, 'engines')),
  }
  const setups = await setUp(names, { folders, jvmFlags: options.quick ? quickFlags : [], plan, host })
  await mkdir(folders.logs, { recursive: true })
  const definitions: EngineDefinition[] = []
  // One after the other: concurrent runs of Maven can corrupt their shared local repository.
  for (const { name, install } of setups) {
    signal.throwIfAborted()
    const onProgress: ReportFetch = (step, detail) => report({ engine: name, step, detail })
    definitions.push(...(await install({ report: onProgress, signal })).map(adapt))
  }
  const orFail = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work
    } catch (error) {
      failed.abort(error)
      throw error
    }
  }
  const [outcomes] = await Promise.all([
    Promise.allSettled(definitions.map((definition) => orFail(startOne(definition, { ...options, signal })))),
    Promise.allSettled(others.map((until) => orFail(until(signal)))),
  ])
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  if (signal.aborted) {
    await stopAll(started)
    options.signal.throwIfAborted()
    throw failed.signal.reason
  }
  return started
}

const startOne = async (
  definition: EngineDefinition,
  { folder, clean, report, signal }: StartAllOptions,
): Promise<Engine> => {
  const { name, dataFolder, logPath } = definition
  const lockPath = join(folder, `${name}.lock`)
  report({ engine: name, step: 'starting' })
  if (clean) await removeData(dataFolder, lockPath, signal)
  await rm(logPath, { force: true })
  const engine = await startEngine(definition, lockPath, signal)
  report({ engine: name, step: 'ready', detail: engine.url })
  return engine
}

/** Waits for the lock, because the engine of a process that was killed may still be shutting down. */
const removeData = async (dataFolder: string, lockPath: string, signal: AbortSignal): Promise<void> => {
  const lock = await waitForLock(lockPath, { deadlineMs: dataDeadlineMs, signal })
  await rm(dataFolder, { recursive: true, force: true })
  await lock.release()
}

const untilExternalAnswers = async (
  name: EngineName,
  value: string | undefined,
  report: Report,
  signal: AbortSignal,
): Promise<void> => {
  if (value === undefined) return
  await untilReachable(name, value, { deadlineMs: externalDeadlineMs, signal })
  report({ engine: name, step: 'ready', detail: 'external' })
}

const urlsOf = (started: readonly Engine[], external: Partial<EngineUrls>): EngineUrls => {
  const urlOf = (name: EngineName) =>
    external[variableOf[name]] ?? started.find((engine) => engine.name === name)?.url ?? ''
  return { ELASTICSEARCH_URL: urlOf('elasticsearch'), KAFKA_BROKERS: urlOf('kafka'), REDIS_URL: urlOf('redis') }
}

const clusterUrlsOf = (plan: ClusterPlan): ClusterUrls => {
  const addresses = (nodes: readonly { port: number }[]): string[] => nodes.map(({ port }) => `127.0.0.1:${port}`)
  return {
    ELASTICSEARCH_URL: addresses(plan.elasticsearch)
      .map((address) => `http://${address}`)
      .join(','),
    KAFKA_BROKERS: addresses(plan.kafka).join(','),
    REDIS_URL: `redis://${addresses([plan.redisMaster])}`,
    REDIS_SENTINELS: addresses(plan.sentinels).join(','),
    REDIS_SENTINEL_NAME: sentinelName,
  }
}
