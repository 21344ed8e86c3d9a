import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Engine, startEngine } from './engine.ts'
import { type EngineDefinition, type EngineName, engineNames } from './engineDefinition.ts'
import { removeEnginesFile, writeEnginesFile } from './enginesFile.ts'
import { type EngineUrls, untilReachable, variableOf } from './external.ts'
import { acquireLock, type Lock } from './lock.ts'
import { type Setup, setUp } from './setup.ts'
import { waitUntil } from './waiting.ts'

export type { Engine } from './engine.ts'
export { type EngineName, engineNames } from './engineDefinition.ts'
export { type EngineUrls, givenEngines } from './external.ts'
export { PrerequisitesMissing } from './prerequisites.ts'

export type Progress = { engine: EngineName; step: 'fetching' | 'unpacking' | 'starting' | 'ready'; detail?: string }
export type StartOptions = {
  /** Holds data and logs; one set of engines runs in it at a time. */
  folder: string
  /** Where what is fetched is unpacked, once for all folders; `<folder>/engines` unless named. */
  distributions?: string
  /** Whether the engines start empty. */
  clean: boolean
  /** Whether they are to be ready soon rather than fast under load; measured: all three in 12 s instead of 19 s. */
  quick: boolean
  /** Engines that run already: used as they are, not started. */
  given: Partial<EngineUrls>
  /** Makes another engine of one that would be started: one that asks who connects, say. */
  adapt?: (recipe: EngineDefinition) => EngineDefinition
  report: (progress: Progress) => void
  /** Ends the wait for the engines; once they run, it means nothing to them. */
  signal: AbortSignal
}
/** Only the quick compiler: on few cores the thorough one competes with the start itself. */
const quickFlags = ['-XX:TieredStopAtLevel=1']
const dataDeadlineMs = 20_000
const givenDeadlineMs = 10_000

/** The engines that answer; one that was given is not among them. */
export type Engines = { urls: EngineUrls; stop(): Promise<void> } & Partial<Record<EngineName, Engine>>

/**
 * Starts Elasticsearch, Kafka and Redis on loopback and returns once all answer; as long as they run, `engines.env` in
 * the folder leads other programs to them. They end with this process, however it ends. Rejects, after it stopped whatever
 * had started, with PrerequisitesMissing when the machine lacks something, when another process runs engines in the
 * folder, with the signal's reason when aborted, and else with the engine's name and the end of its log.
 */
export const startEngines = async (options: StartOptions): Promise<Engines> => {
  const folder = resolve(options.folder)
  await mkdir(folder, { recursive: true })
  const lock = await lockFolder(folder)
  const file = join(folder, 'engines.env')
  try {
    await removeEnginesFile(file)
    const { urls, byName, stop } = await startAll(folder, options)
    try {
      await writeEnginesFile(file, urls)
    } catch (error) {
      await stop()
      throw error
    }
    const stopAndRelease = async (): Promise<void> => {
      await removeEnginesFile(file)
      await stop()
      await lock.release()
    }
    return { ...byName, urls, stop: stopAndRelease }
  } catch (error) {
    await lock.release()
    throw error
  }
}

const lockFolder = async (folder: string): Promise<Lock> => {
  const outcome = await acquireLock(join(folder, 'engines.lock'))
  if ('lock' in outcome) return outcome.lock
  throw new Error(`The engines in ${folder} are in use: process ${outcome.holderPid} runs them. Stop it first.`)
}

type Started = { urls: EngineUrls; byName: Partial<Record<EngineName, Engine>>; stop(): Promise<void> }

const startAll = async (folder: string, options: StartOptions): Promise<Started> => {
  const { given } = options
  const failed = new AbortController()
  const signal = AbortSignal.any([options.signal, failed.signal])
  const abortOthers = (error: unknown): never => {
    failed.abort(error)
    throw error
  }
  const setups = await setUp(
    engineNames.filter((name) => given[variableOf[name]] === undefined),
    {
      data: join(folder, 'data'),
      logs: join(folder, 'logs'),
      distributions: resolve(options.distributions ?? join(folder, 'engines')),
    },
    options.quick ? quickFlags : [],
  )
  await mkdir(join(folder, 'logs'), { recursive: true })
  const install = installInTurn(options.report, signal)
  const [started, reached] = await Promise.all([
    Promise.allSettled(
      setups.map((setup) => startOne(setup, { ...options, folder, install, signal }).catch(abortOthers)),
    ),
    Promise.allSettled(engineNames.map((name) => untilGivenAnswers(name, options, signal).catch(abortOthers))),
  ])
  const engines = started.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []))
  const stop = async (): Promise<void> => {
    await Promise.all(engines.map((engine) => engine.stop()))
  }
  if ([...started, ...reached].some(({ status }) => status === 'rejected')) {
    await stop()
    options.signal.throwIfAborted()
    throw failed.signal.reason
  }
  const byName: Partial<Record<EngineName, Engine>> = Object.fromEntries(engines.map((engine) => [engine.name, engine]))
  return { urls: urlsOf(byName, given), byName, stop }
}

type Install = (setup: Setup) => Promise<EngineDefinition>

/** One after the other: two Mavens at once may trip over one another in the repository they share. */
const installInTurn = (report: StartOptions['report'], signal: AbortSignal): Install => {
  let last: Promise<unknown> = Promise.resolve()
  return (setup) => {
    const turn = last.then(() => {
      signal.throwIfAborted()
      return setup.install({ report: (step, detail) => report(progressOf(setup.name, step, detail)), signal })
    })
    last = turn.catch(() => undefined)
    return turn
  }
}

const startOne = async (
  setup: Setup,
  { folder, clean, adapt, report, install, signal }: StartOptions & { install: Install },
): Promise<Engine> => {
  const { name, logPath, dataFolder } = setup
  const installed = await install(setup)
  const recipe = adapt?.(installed) ?? installed
  const lockPath = join(folder, `${name}.lock`)
  report({ engine: name, step: 'starting' })
  if (clean) await removeData(dataFolder, lockPath, signal)
  await rm(logPath, { force: true })
  const engine = await startEngine(recipe, { logPath, lockPath }, signal)
  report({ engine: name, step: 'ready', detail: engine.url })
  return engine
}

/** An engine whose starter was killed may still be on its way out. */
const removeData = async (dataFolder: string, lockPath: string, signal: AbortSignal): Promise<void> => {
  let lock: Lock | undefined
  const free = async (): Promise<boolean> => {
    const outcome = await acquireLock(lockPath)
    lock = 'lock' in outcome ? outcome.lock : undefined
    return lock !== undefined
  }
  if (!(await waitUntil(free, { deadlineMs: dataDeadlineMs, signal }))) throw new Error(`${dataFolder} is still in use`)
  await rm(dataFolder, { recursive: true, force: true })
  await lock?.release()
}

const untilGivenAnswers = async (name: EngineName, options: StartOptions, signal: AbortSignal): Promise<void> => {
  const value = options.given[variableOf[name]]
  if (value === undefined) return
  await untilReachable(name, value, { deadlineMs: givenDeadlineMs, signal })
  options.report({ engine: name, step: 'ready', detail: 'given' })
}

const progressOf = (engine: EngineName, step: Progress['step'], detail?: string): Progress =>
  detail === undefined ? { engine, step } : { engine, step, detail }

const urlsOf = (engines: Partial<Record<EngineName, Engine>>, given: Partial<EngineUrls>): EngineUrls => {
  const urlOf = (name: EngineName) => given[variableOf[name]] ?? engines[name]?.url ?? ''
  return { ELASTICSEARCH_URL: urlOf('elasticsearch'), KAFKA_BROKERS: urlOf('kafka'), REDIS_URL: urlOf('redis') }
}
