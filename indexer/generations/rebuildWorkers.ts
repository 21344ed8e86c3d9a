import { type ChildProcess, fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../src/core/process/config.ts'
import type { Lag } from '../publisher.ts'
import type { Generation } from './generations.ts'
import type { FromWorker, ToWorker, WorkerProgress } from './rebuildMessages.ts'

const program = new URL('./rebuildWorker.ts', import.meta.url)
/** Longer than what a process has in flight takes to be published. */
const stopDeadlineMs = 8_500
/** A process that does not answer within this time is killed; well within the hold on the watermark. */
const answerDeadlineMs = 4_000

type Options = {
  readonly config: Config
  readonly generation: Generation
  readonly processes: number
  /** Called with what happens to a process. */
  onStep(text: string): void
  /** Called when the rebuild cannot go on. */
  fail(error: Error): void
}

type Worker = {
  readonly child: ChildProcess
  progress: WorkerProgress
  /** Called when it has answered. */
  answered(): void
  /** Resolves with how it ended. */
  readonly ended: Promise<string>
}

/**
 * The processes that read for a rebuild. They are members of one group, so Kafka shares the partitions out among them, and gives those of
 * a process that was killed to the others, which read again what it has not committed. Without any process left, the rebuild fails.
 */
export class RebuildWorkers {
  readonly #options: Options
  readonly #workers = new Set<Worker>()
  #isStopping = false

  constructor(options: Options) {
    this.#options = options
    for (let each = 0; each < options.processes; each++) this.#start()
  }

  /** How far each partition is searchable. One that has moved may be there twice; both are true. */
  lags(): Lag[] {
    return [...this.#workers].flatMap(({ progress }) => progress.lags)
  }

  /** Why they make no progress, each reason once. */
  blockedReasons(): string[] {
    return [...new Set([...this.#workers].flatMap(({ progress }) => Object.values(progress.blockedReasons)))]
  }

  /** Once this resolves, no record that is read gets a `changedAt` below `watermarkMs`. */
  async startChangesAt(watermarkMs: number): Promise<void> {
    await Promise.all([...this.#workers].map((worker) => ask(worker, { kind: 'start-changes', watermarkMs })))
  }

  /** Lets them make searchable what they have processed so far. */
  publish(): void {
    for (const worker of this.#workers) send(worker, { kind: 'publish' })
  }

  /** Lets them publish what is in flight and leave the group; after a deadline they are killed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const workers = [...this.#workers]
    for (const worker of workers) send(worker, { kind: 'stop' })
    const ended = Promise.all(workers.map((worker) => worker.ended))
    await Promise.race([ended, sleep(stopDeadlineMs, undefined, { ref: false })])
    for (const { child } of this.#workers) child.kill('SIGKILL')
    await ended
  }

  #start(): void {
    const { config, generation, fail } = this.#options
    const child = fork(program, { serialization: 'advanced', stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })
    const worker: Worker = {
      child,
      progress: { lags: [], blockedReasons: {} },
      answered: () => undefined,
      ended: untilEnded(child),
    }
    child.on('message', (message: FromWorker) => {
      switch (message.kind) {
        case 'progress':
          worker.progress = message
          break
        case 'changes-started':
          worker.answered()
          break
        case 'failed':
          fail(new Error(message.reason))
      }
    })
    this.#workers.add(worker)
    worker.ended.then((how) => this.#forget(worker, how), fail)
    send(worker, { kind: 'start', config, generation })
  }

  #forget(worker: Worker, how: string): void {
    const { onStep, fail } = this.#options
    this.#workers.delete(worker)
    if (this.#isStopping) return
    if (this.#workers.size === 0) fail(new Error(`no process is left that reads Kafka: the last one ${how}`))
    else onStep(`process ${worker.child.pid} ${how}; the others read its partitions`)
  }
}

const untilEnded = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(signal === null ? `has ended with code ${code}` : `was ended by ${signal}`),
    )
    child.on('error', (error) => {
      // It was not started; a message that could not be sent is followed by its end.
      if (child.pid === undefined) resolve(`could not be started: ${error.message}`)
    })
  })

/** Sends a message and waits for its answer. A process that does not answer in time is killed. */
async function ask(worker: Worker, message: ToWorker): Promise<void> {
  const answer = new Promise<void>((resolve) => {
    worker.answered = resolve
  })
  send(worker, message)
  const overdue = setTimeout(() => worker.child.kill('SIGKILL'), answerDeadlineMs)
  await Promise.race([answer, worker.ended])
  clearTimeout(overdue)
}

/** Whoever cannot be told any more has ended, or is about to. */
function send({ child }: Worker, message: ToWorker): void {
  child.send(message, () => undefined)
}
