import { readFrom, withLog } from './logTail.ts'
import type { User } from './permissions.ts'
import { choosePort, portFree } from './ports.ts'
import { signalGroup } from './runningProcess.ts'
import { type Command, type LogAndLock, type SupervisedProgram, startSupervised } from './supervisedProgram.ts'
import { waitUntil, within } from './waiting.ts'

export const engineNames = ['elasticsearch', 'kafka', 'redis'] as const
export type EngineName = (typeof engineNames)[number]

/** How an engine, or one node of a cluster, is configured and run. */
export type EngineDefinition = {
  kind: EngineName
  /** The kind, with a number where there are several: `kafka-2`. Names its files. */
  name: string
  /** A fixed port is known to other nodes before the start; else any other port will do where this one is taken. */
  port: { readonly preferred: number } | { readonly fixed: number }
  /** From its start until it answers; more than a slow machine needs. */
  startDeadlineMs: number
  dataFolder: string
  logPath: string
  /** The ports at which other nodes of a cluster reach it. */
  clusterPorts?: readonly number[]
  /** The user of a node that has one of its own. */
  user?: User
  url(port: number): string
  /** Writes the configuration for a start at `port`, whatever state an earlier run left behind. */
  prepare(port: number, signal: AbortSignal): Promise<Command>
  /** Whether this engine, and not another one at the same port, takes requests. */
  answers(running: Running, signal: AbortSignal): Promise<boolean>
}
export type Running = {
  port: number
  pid: number
  /** Its log since this start. */
  output(): Promise<string>
}

/** An engine that this process started. It ends with this process. */
export type Engine = {
  readonly kind: EngineName
  readonly name: string
  readonly url: string
  /** Leader of its process group; another one after every start. */
  readonly pid: number
  readonly dataFolder: string
  readonly logPath: string
  readonly clusterPorts: readonly number[]
  readonly user: User | undefined
  /** Sends SIGTERM, after 7 s SIGKILL; cancels a start that is under way. Does nothing when it is not running. */
  stop(): Promise<void>
  /** Starts it again at the same port on the same data, after a stop or a kill, and returns once it answers. */
  start(): Promise<void>
  /** Sends `signal` to all its processes. Throws when it is not running. */
  kill(signal: NodeJS.Signals): void
  /** Settles when it is no longer running, with how it ended, for example `was ended by SIGKILL`. */
  ended(): Promise<string>
}

const endDeadlineMs = 15_000

/** Starts an engine and returns once it answers. The lock at `lockPath` is held while it runs. */
export const startEngine = async (
  definition: EngineDefinition,
  lockPath: string,
  signal: AbortSignal,
): Promise<Engine> => {
  const files = { logPath: definition.logPath, lockPath }
  const startOn = async (port: number): Promise<Engine> =>
    engineAt(definition, files, port, await startAt(definition, files, port, signal))
  if ('fixed' in definition.port) return startOn(definition.port.fixed)
  const port = await choosePort(definition.port.preferred)
  try {
    return await startOn(port)
  } catch (error) {
    signal.throwIfAborted()
    // Another engine that starts at the same time may have taken the port since it was found free.
    if (await portFree(port)) throw error
  }
  return startOn(await choosePort())
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
