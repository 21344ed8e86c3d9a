import type { EngineDefinition, EngineName, Running } from './engineDefinition.ts'
import { readFrom, withLog } from './logTail.ts'
import { choosePort, portFree } from './ports.ts'
import { signalGroup } from './runningProcess.ts'
import { type Place, type SupervisedProgram, startSupervised } from './supervisedProgram.ts'
import { waitUntil, within } from './waiting.ts'

/** An engine that this process started and that does not outlive it. */
export type Engine = {
  readonly name: EngineName
  readonly url: string
  /** Leader of its process group, a new one after every start. */
  readonly pid: number
  readonly dataFolder: string
  readonly logPath: string
  /** Stops it in order, by force after 7 s, and gives up a start that is under way. Nothing when it is not running. */
  stop(): Promise<void>
  /** Starts it again at the same port on the same data, after a stop or a kill, and returns once it answers. */
  start(): Promise<void>
  /** Sends `signal` to all its processes. Throws when it is not running. */
  kill(signal: NodeJS.Signals): void
  /** Settles when it is no longer running, with how it ended, like `was ended by SIGKILL`. */
  ended(): Promise<string>
}

const goneDeadlineMs = 15_000

/** Starts an engine at its default port, or at another one where that is taken, and returns once it answers. */
export const startEngine = async (recipe: EngineDefinition, place: Place, signal: AbortSignal): Promise<Engine> => {
  const port = await choosePort(recipe.defaultPort)
  try {
    return engineAt(recipe, place, port, await startAt(recipe, place, port, signal))
  } catch (error) {
    signal.throwIfAborted()
    // A port that was free when chosen may have been taken since by an engine that starts beside this one.
    if (await portFree(port)) throw error
  }
  const other = await choosePort()
  return engineAt(recipe, place, other, await startAt(recipe, place, other, signal))
}

const engineAt = (recipe: EngineDefinition, place: Place, port: number, first: SupervisedProgram): Engine => {
  let current = first
  let restart = { cancel: new AbortController(), settled: Promise.resolve() }
  const startAgain = async (signal: AbortSignal): Promise<void> => {
    if ((await within(current.ended, goneDeadlineMs)) === undefined) {
      throw new Error(`${recipe.name} is still running as process ${current.pid}`)
    }
    current = await startAt(recipe, place, port, signal)
  }
  return {
    name: recipe.name,
    url: recipe.url(port),
    get pid() {
      return current.pid
    },
    dataFolder: recipe.dataFolder,
    logPath: place.logPath,
    stop: async () => {
      restart.cancel.abort(new Error(`${recipe.name} was stopped`))
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
      if (current.hasEnded() || !signalGroup(current.pid, signal)) throw new Error(`${recipe.name} is not running`)
    },
    ended: async () => (await current.ended).how,
  }
}

const startAt = (
  recipe: EngineDefinition,
  place: Place,
  port: number,
  signal: AbortSignal,
): Promise<SupervisedProgram> =>
  withLog({ name: recipe.name, logPath: place.logPath, signal }, async (from) => {
    const program = await startSupervised(await recipe.prepare(port, signal), place, signal)
    try {
      const running = { port, pid: program.pid, output: () => readFrom(place.logPath, from) }
      await untilAnswering(recipe, program, running, signal)
      return program
    } catch (error) {
      await program.stop()
      throw error
    }
  })

const untilAnswering = async (
  recipe: EngineDefinition,
  program: SupervisedProgram,
  running: Running,
  signal: AbortSignal,
): Promise<void> => {
  const over = new AbortController()
  const deadlineMs = recipe.startDeadlineMs
  const asking = waitUntil(() => recipe.answers(running, signal).catch(() => false), {
    deadlineMs,
    signal: AbortSignal.any([signal, over.signal]),
  })
  const early = program.ended.then(({ how }) => {
    throw new Error(`${how} before it answered`)
  })
  try {
    if (!(await Promise.race([asking, early]))) throw new Error(`did not answer within ${deadlineMs / 1_000} s`)
  } finally {
    over.abort()
    await asking.catch(() => undefined)
  }
}
