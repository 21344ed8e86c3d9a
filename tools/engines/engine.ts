import { readFrom, withLog } from './logTail.ts'
import type { User } from './permissions.ts'
import { choosePort, portFree } from './ports.ts'
import { signalGroup } from './runningProcess.ts'
import { type Command, type LogAndLock, type SupervisedProgram, startSupervised } from './supervisedProgram.ts'
import { waitUntil, within } from './waiting.ts'

export const engineNames = ['elasticsearch', 'kafka', 'redis'] as const
export type EngineName = (typeof engineNames)[number]

export type EngineDefinition = {
  kind: EngineName
  /** With a number in a cluster: `kafka-2`. Part of the names of its files. */
  name: string
  /** Fixed if other nodes have the port in their configuration. Otherwise another port is chosen if it is taken. */
  port: { readonly preferred: number } | { readonly fixed: number }
  /** The address at which clients reach it; loopback by default. */
  host?: string
  /** The engine answers so soon after its start, even on a slow machine. */
  startDeadlineMs: number
  dataFolder: string
  logPath: string
  /** Other nodes of a cluster reach the engine at these ports. */
  clusterPorts?: readonly number[]
  /** Undefined for the user of this process. */
  user?: User
  url(port: number): string
  /** Writes the configuration for a start at `port`, over that of an earlier run. */
  prepare(port: number, signal: AbortSignal): Promise<Command>
  /** False for another engine at the same port. */
  answers(running: Running, signal: AbortSignal): Promise<boolean>
}
export type Running = {
  port: number
  pid: number
  /** The log since this start. */
  output(): Promise<string>
}

/** An engine that ends when this process ends. */
export type Engine = {
  readonly kind: EngineName
  readonly name: string
  readonly url: string
  /** The leader of its process group; changes with every start. */
  readonly pid: number
  readonly dataFolder: string
  readonly logPath: string
  readonly clusterPorts: readonly number[]
  readonly user: User | undefined
  /** Sends SIGTERM, and SIGKILL after 7 s; cancels a start in progress. Without effect if the engine is not running. */
  stop(): Promise<void>
  /** Starts again at the same port with the same data, after a stop or a kill. Resolves when the engine answers. */
  start(): Promise<void>
  /** Sends `signal` to all of its processes. Throws if the engine is not running. */
  kill(signal: NodeJS.Signals): void
  /** Resolves when the engine has ended, with how: `was ended by SIGKILL`. */
  ended(): Promise<string>
}

const endDeadlineMs = 15_000

/** Resolves when the engine answers. The engine owns the lock at `lockPath` while it runs. */
export const startEngine = async (
  definition: EngineDefinition,
  lockPath: string,
  signal: AbortSignal,
): Promise<Engine> => {
  const files = { logPath: definition.logPath, lockPath }
  const startOn = async (port: number): Promise<Engine> =>
    engineAt(definition, files, port, await startAt(definition, files, port, signal))
  if ('fixed' in definition.port) return startOn(definition.port.fixed)
  const { host } = definition
  const port = await choosePort(definition.port.preferred, host)
  try {
    return await startOn(port)
  } catch (error) {
    signal.throwIfAborted()
    // If another program has taken the port meanwhile, the next attempt uses another port.
    if (await portFree(port, host)) throw error
  }
  return startOn(await choosePort(undefined, host))
}

const engineAt = (definition: EngineDefinition, files: LogAndLock, port: number, first: SupervisedProgram): Engine => {
  const { kind, name, dataFolder, clusterPorts = [], user } = definition
  let current = first
  let restart = { cancel: new AbortController(), settled: Promise.resolve() }
  const startAgain = async (signal: AbortSignal): Promise<void> => {
    if ((await within(current.ended, endDeadlineMs)) === undefined) {
      throw new Error(`${name} is still running as process ${current.pid}`)
    }
    current = await startAt(definition, files, port, signal)
  }
  return {
    kind,
    name,
    url: definition.url(port),
    get pid() {
      return current.pid
    },
    dataFolder,
    logPath: files.logPath,
    clusterPorts,
    user,
    stop: async () => {
      restart.cancel.abort(new Error(`${name} was stopped`))
      await restart.settled
      await current.stop()
    },
    start: () => {
      const cancel = new AbortController()
      const started = startAgain(cancel.signal)
      restart = { cancel, settled: started.catch(() => undefined) }
      return started
    },
    kill: (signal) => {
      if (current.hasEnded() || !signalGroup(current.pid, signal)) throw new Error(`${name} is not running`)
    },
    ended: async () => (await current.ended).how,
  }
}

const startAt = (
  definition: EngineDefinition,
  files: LogAndLock,
  port: number,
  signal: AbortSignal,
): Promise<SupervisedProgram> =>
  withLog({ name: definition.name, logPath: files.logPath, signal }, async (from) => {
    const program = await startSupervised(await definition.prepare(port, signal), files, signal)
    try {
      await untilAnswering(definition, program, { port, output: () => readFrom(files.logPath, from) }, signal)
      return program
    } catch (error) {
      await program.stop()
      throw error
    }
  })

const untilAnswering = async (
  { startDeadlineMs: deadlineMs, answers }: EngineDefinition,
  program: SupervisedProgram,
  running: Omit<Running, 'pid'>,
  signal: AbortSignal,
): Promise<void> => {
  const ended = new AbortController()
  const answered = waitUntil(() => answers({ ...running, pid: program.pid }, signal).catch(() => false), {
    deadlineMs,
    signal: AbortSignal.any([signal, ended.signal]),
  })
  const endedEarly = program.ended.then(({ how }) => {
    throw new Error(`${how} before it answered`)
  })
  try {
    if (!(await Promise.race([answered, endedEarly]))) throw new Error(`did not answer within ${deadlineMs / 1_000} s`)
  } finally {
    ended.abort()
    await answered.catch(() => undefined)
  }
}
