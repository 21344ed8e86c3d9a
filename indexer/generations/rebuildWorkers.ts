import { setTimeout as sleep } from 'node:timers/promises'
import type { Config } from '../../src/core/process/config.ts'
import type { VisiblePosition } from '../publisher.ts'
import type { TopicRules } from '../topics.ts'
import type { Generation } from './generations.ts'
import type { ToWorker, WorkerProcess, WorkerProgress } from './rebuildMessages.ts'

/** Longer than what a process has in flight takes to be published. */
const stopDeadlineMs = 8_500
/** A process that does not answer within this time is killed; well within the hold on the watermark. */
const answerDeadlineMs = 4_000

type Options = {
  readonly config: Config
  readonly generation: Generation
  /** How long (ms) each topic keeps a deletion for certain. */
  readonly keptMs: TopicRules['keptMs']
  readonly processes: number
  /** Starts a process that reads for the rebuild. */
  startProcess(): WorkerProcess
  /** Called with what happens to a process. */
  onStep(text: string): void
  /** Called when the rebuild cannot go on. */
  fail(error: Error): void
}

type Worker = {
  readonly process: WorkerProcess
  progress: WorkerProgress
  /** Called when it has answered. */
  answered(): void
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

  /** How many processes are left. */
  count(): number {
    return this.#workers.size
  }

  /** How far each partition is searchable. One that has moved may be there twice; both are true. */
  positions(): VisiblePosition[] {
    return [...this.#workers].flatMap(({ progress }) => progress.positions)
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
    for (const { process } of this.#workers) process.send({ kind: 'publish' })
  }

  /** Lets them publish what is in flight and leave the group; after a deadline they are killed. */
  async stop(): Promise<void> {
    this.#isStopping = true
    const workers = [...this.#workers]
    for (const { process } of workers) process.send({ kind: 'stop' })
    const ended = Promise.all(workers.map(({ process }) => process.ended))
    await Promise.race([ended, sleep(stopDeadlineMs, undefined, { ref: false })])
    for (const { process } of this.#workers) process.kill()
    await ended
  }

  #start(): void {
    const { config, generation, keptMs, startProcess, fail } = this.#options
    const process = startProcess()
    const worker: Worker = { process, progress: { positions: [], blockedReasons: {} }, answered: () => undefined }
    process.onMessage((message) => {
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
    process.ended.then((how) => this.#forget(worker, how), fail)
    process.send({ kind: 'start', config, generation, keptMs })
  }

  #forget(worker: Worker, how: string): void {
    const { onStep, fail } = this.#options
    this.#workers.delete(worker)
    if (this.#isStopping) return
    if (this.#workers.size === 0) fail(new Error(`no process is left that reads Kafka: the last one ${how}`))
    else onStep(`process ${worker.process.name} ${how}; the others read its partitions`)
  }
}

/** Sends a message and waits for its answer. A process that does not answer in time is killed. */
async function ask(worker: Worker, message: ToWorker): Promise<void> {
  const answer = new Promise<void>((resolve) => {
    worker.answered = resolve
  })
  worker.process.send(message)
  const overdue = setTimeout(() => worker.process.kill(), answerDeadlineMs)
  await Promise.race([answer, worker.process.ended])
  clearTimeout(overdue)
}
