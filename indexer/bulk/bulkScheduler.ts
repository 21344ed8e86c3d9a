import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../backoff.ts'
import { type BulkBounds, BulkLimits } from './bulkLimits.ts'
import { BulkQueue } from './bulkQueue.ts'
import type { Job, RecordWrite } from './job.ts'
import { RecordRate } from './recordRate.ts'

export type SchedulerOptions = BulkBounds & {
  /** The most records that are sent in a second; undefined for no limit. */
  readonly maxRecordsPerSecond: number | undefined
  /** Time that never steps (ms). */
  readonly elapsedMs: () => number
  readonly random: () => number
  readonly signal: AbortSignal
  /** Called with a bug, after which the batch that met it is never finished. */
  onFatal(error: Error): void
}

/** What has become of the jobs of one batch. */
export type BatchResult = {
  /** Jobs that must be sent again, with a `failure` after a backoff. All others are done, but for the compared ones. */
  readonly again: readonly Job[]
  /** Jobs that are still being compared with what is stored, while the next request is sent. */
  readonly compared: readonly Job[]
  /** Resolves once they are, with those of them that must be sent again. */
  readonly comparing: Promise<readonly Job[]>
  /** Whether any request of the batch had results by document. */
  readonly hasResults: boolean
}

/** Decides when the next request is sent, and what it holds. Batches grow while requests are in flight. */
export class BulkScheduler {
  readonly #options: SchedulerOptions
  readonly #send: (jobs: readonly Job[]) => Promise<BatchResult>
  readonly #rate: RecordRate
  readonly #queue = new BulkQueue()
  /** Adapts to how requests end. */
  readonly limits: BulkLimits
  #requests = 0
  #isScheduled = false
  #isResting = false

  constructor(options: SchedulerOptions, send: (jobs: readonly Job[]) => Promise<BatchResult>) {
    this.#options = options
    this.#send = send
    this.limits = new BulkLimits(options)
    this.#rate = new RecordRate(options.maxRecordsPerSecond, options.elapsedMs)
  }

  /** Sends only after the caller's turn of the event loop, so that all records of one fetch can share a request. */
  submit(write: RecordWrite): void {
    this.#queue.submit(write)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#sendBatches()
    })
  }

  #sendBatches(): void {
    while (!this.#isResting && this.#requests < this.limits.maxRequests && !this.#options.signal.aborted) {
      const jobs = this.#nextBatch()
      if (jobs.length === 0) return
      this.#requests++
      this.#run(this.#sendBatch(jobs))
    }
  }

  #nextBatch(): Job[] {
    const { maxBytes, maxDocuments } = this.limits
    const { jobs, isCutOff } = this.#queue.take({ maxBytes, maxDocuments, maxRecords: this.#rate.allowed() })
    this.#rate.take(jobs.length)
    if (isCutOff) this.#run(this.#restUntilAllowed())
    return jobs
  }

  async #restUntilAllowed(): Promise<void> {
    this.#isResting = true
    await sleep(this.#rate.waitMs(), undefined, { signal: this.#options.signal })
    this.#isResting = false
    this.#sendBatches()
  }

  async #sendBatch(jobs: readonly Job[]): Promise<void> {
    const { again, compared, comparing, hasResults } = await this.#send(jobs)
    const open = new Set(compared.map(({ entity }) => entity))
    const retries = this.#settle(
      jobs.filter(({ entity }) => !open.has(entity)),
      again,
    )
    if (open.size > 0) this.#run(this.#settleCompared(compared, comparing))
    // Nothing got through: then nothing is sent in the place of this request, either.
    if (!hasResults) await Promise.all(retries)
    else for (const retry of retries) this.#run(retry)
    this.#requests--
    this.#sendBatches()
  }

  async #settleCompared(jobs: readonly Job[], comparing: Promise<readonly Job[]>): Promise<void> {
    for (const retry of this.#settle(jobs, await comparing)) this.#run(retry)
    this.#sendBatches()
  }

  /** Takes jobs that are done out of flight; returns the retries of those that have failed. */
  #settle(jobs: readonly Job[], again: readonly Job[]): Promise<void>[] {
    const failed = again.filter(({ failure }) => failure !== undefined)
    const waiting = new Set(failed.map(({ entity }) => entity))
    this.#queue.release(jobs.filter(({ entity }) => !waiting.has(entity)))
    this.#queue.putBack(again.filter(({ failure }) => failure === undefined))
    return [...Map.groupBy(failed, ({ attempts }) => attempts)].map((each) => this.#retryLater(...each))
  }

  /** Records that have failed equally often wait together, and no others with them. */
  async #retryLater(attempts: number, jobs: readonly Job[]): Promise<void> {
    await sleep(backoffMs(attempts, this.#options.random), undefined, { signal: this.#options.signal })
    this.#queue.putBack(jobs)
    this.#sendBatches()
  }

  /** An error is a bug, unless the writer was stopped. */
  #run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.#options.signal.aborted) this.#options.onFatal(error as Error)
    })
  }
}
