import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ReportFetch } from './distribution.ts'
import { type Engine, type EngineDefinition, type EngineName, engineNames, startEngine } from './engine.ts'
import { type EngineUrls, untilReachable, variableOf, writeEnginesFile } from './engineUrls.ts'
import { acquireLock, type Lock } from './lock.ts'
import { type Setup, setUp } from './setup.ts'
import { waitUntil } from './waiting.ts'

export { type Engine, type EngineDefinition, type EngineName, engineNames } from './engine.ts'
export { type EngineUrls, externalEngines, variableOf } from './engineUrls.ts'

export type Progress = {
  engine: EngineName
  step: 'fetching' | 'unpacking' | 'starting' | 'ready'
  detail?: string | undefined
}
export type StartOptions = {
  /** Holds data and logs; one set of engines runs in it at a time. */
  folder: string
  /** Where distributions are unpacked, once for all folders; `<folder>/engines` by default. */
  distributions?: string
  /** Whether the engines start empty. */
  clean: boolean
  /** Whether a quick start matters more than speed under load; measured: all three in 12 s instead of 19 s. */
  quick: boolean
  /** Engines that already run elsewhere: they are used, not started. None by default. */
  external?: Partial<EngineUrls>
  /** Changes the definition of each engine before its start, for example to turn on authentication. */
  adapt?: (definition: EngineDefinition) => EngineDefinition
  report?: (progress: Progress) => void
  /** Cancels the start; has no effect once the engines run. */
  signal: AbortSignal
}
/** C1 only: on few cores the C2 compiler competes with the start itself. */
const quickFlags = ['-XX:TieredStopAtLevel=1']
const dataDeadlineMs = 20_000
const externalDeadlineMs = 10_000

/** The engines that answer. `started`, and the properties by name, leave out external ones. */
export type Engines = {
  readonly urls: EngineUrls
  readonly started: readonly Engine[]
  stop(): Promise<void>
} & Partial<Record<EngineName, Engine>>

/**
 * Starts Elasticsearch, Kafka and Redis on loopback and returns once all answer. While they run, `engines.env` in the
 * folder tells other programs their URLs. They end with this process, however it ends. After stopping whatever had
 * started, it rejects: with PrerequisitesMissing when the machine lacks a program; when another process runs engines in
 * the folder; with the signal's reason when aborted; else with the engine's name and the end of its log.
 */
export const startEngines = async (options: StartOptions): Promise<Engines> => {
  const folder = resolve(options.folder)
  await mkdir(folder, { recursive: true })
  await using undo = new AsyncDisposableStack()
  const lock = await lockFolder(folder)
  undo.defer(() => lock.release())
  const file = join(folder, 'engines.env')
  await rm(file, { force: true })
  const { urls, started } = await startAll(folder, options)
  undo.defer(() => stopAll(started))
  await writeEnginesFile(file, urls)
  undo.defer(() => rm(file, { force: true }))
  const running = undo.move()
  return {
    ...Object.fromEntries(started.map((engine) => [engine.name, engine])),
    urls,
    started,
    stop: () => running.disposeAsync(),
  }
}

/** Rejects as soon as an engine of these ends, with its name, how it ended, and where its log is. */
export const failWhenEngineEnds = async ({ started }: Engines): Promise<never> => {
  const ended = started.map(async (engine): Promise<never> => {
    throw new Error(`${engine.name} ${await engine.ended()}; its log is ${engine.logPath}`)
  })
  // Promise.race of none never settles: external engines are not watched.
  return Promise.race(ended)
}

const stopAll = async (engines: readonly Engine[]): Promise<void> => {
  await Promise.all(engines.map((engine) => engine.stop()))
}

const lockFolder = async (folder: string): Promise<Lock> => {
  const outcome = await acquireLock(join(folder, 'engines.lock'))
  if ('lock' in outcome) return outcome.lock
  throw new Error(`The engines in ${folder} are in use: process ${outcome.holderPid} runs them. Stop it first.`)
}

const startAll = async (folder: string, options: StartOptions): Promise<Pick<Engines, 'urls' | 'started'>> => {
  const { clean, external = {}, report = () => undefined, adapt = (definition) => definition } = options
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const setups = await setUp(
    engineNames.filter((name) => external[variableOf[name]] === undefined),
    {
      data: join(folder, 'data'),
      logs: join(folder, 'logs'),
      distributions: resolve(options.distributions ?? join(folder, 'engines')),
    },
    options.quick ? quickFlags : [],
  )
  await mkdir(join(folder, 'logs'), { recursive: true })
  const starts: (() => Promise<Engine | undefined>)[] = engineNames.map(
    (name) => () => untilExternalAnswers(name, external[variableOf[name]], report, signal),
  )
  // One after the other: concurrent Maven runs can corrupt the local repository that they share.
  for (const setup of setups) {
    signal.throwIfAborted()
    const onProgress: ReportFetch = (step, detail) => report({ engine: setup.name, step, detail })
    const definition = adapt(await setup.install({ report: onProgress, signal }))
    starts.push(() => startOne(setup, definition, { folder, clean, report, signal }))
  }
  const outcomes = await Promise.allSettled(
    starts.map(async (start) => {
      try {
        return await start()
      } catch (error) {
        failed.abort(error)
        throw error
      }
    }),
  )
  const started = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? (outcome.value ?? []) : []))
  if (signal.aborted) {
    await stopAll(started)
    options.signal.throwIfAborted()
    throw failed.signal.reason
  }
  return { urls: urlsOf(started, external), started }
}

type StartContext = { folder: string; report: (progress: Progress) => void; signal: AbortSignal }

const startOne = async (
  { name, logPath, dataFolder }: Setup,
  definition: EngineDefinition,
  { folder, clean, report, signal }: StartContext & { clean: boolean },
): Promise<Engine> => {
  const lockPath = join(folder, `${name}.lock`)
  report({ engine: name, step: 'starting' })
  if (clean) await removeData(dataFolder, lockPath, signal)
  await rm(logPath, { force: true })
  const engine = await startEngine(definition, { logPath, lockPath }, signal)
  report({ engine: name, step: 'ready', detail: engine.url })
  return engine
}

/** Waits for the lock first: an engine whose starter was killed may still be shutting down. */
const removeData = async (dataFolder: string, lockPath: string, signal: AbortSignal): Promise<void> => {
  let lock: Lock | undefined
  const locked = async (): Promise<boolean> => {
    const outcome = await acquireLock(lockPath)
    lock = 'lock' in outcome ? outcome.lock : undefined
    return lock !== undefined
  }
  if (!(await waitUntil(locked, { deadlineMs: dataDeadlineMs, signal }))) throw new Error(`${dataFolder} is in use`)
  await rm(dataFolder, { recursive: true, force: true })
  await lock?.release()
}

const untilExternalAnswers = async (
  name: EngineName,
  value: string | undefined,
  report: (progress: Progress) => void,
  signal: AbortSignal,
): Promise<undefined> => {
  if (value === undefined) return
  await untilReachable(name, value, { deadlineMs: externalDeadlineMs, signal })
  report({ engine: name, step: 'ready', detail: 'external' })
}

const urlsOf = (started: readonly Engine[], external: Partial<EngineUrls>): EngineUrls => {
  const urlOf = (name: EngineName) =>
    external[variableOf[name]] ?? started.find((engine) => engine.name === name)?.url ?? ''
  return { ELASTICSEARCH_URL: urlOf('elasticsearch'), KAFKA_BROKERS: urlOf('kafka'), REDIS_URL: urlOf('redis') }
}
