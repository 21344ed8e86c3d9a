import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../backoff.ts'
import { type BulkBounds, BulkLimits, RecordRate } from './bulkLimits.ts'
import { type Job, newJob, type RecordWrite, sizeOf, winnerOf } from './job.ts'

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

/**
 * Decides when the next request is sent, and what it holds: of each entity only the record that counts, and none while another one of the
 * entity is in flight. Batches grow while requests are in flight.
 */
export class BulkScheduler {
  readonly #options: SchedulerOptions
  readonly #send: (jobs: readonly Job[]) => Promise<BatchResult>
  readonly #rate: RecordRate
  /** The records that wait to be sent, by entity. */
  readonly #waiting = new Map<string, Job>()
  /** The entities of which a record is in flight, or waits for its next attempt. */
  readonly #inFlight = new Set<string>()
  #submitted = 0
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
    this.#enqueue(newJob(write, this.#submitted++))
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#sendBatches()
    })
  }

  #enqueue(job: Job): void {
    const waiting = this.#waiting.get(job.entity)
    this.#waiting.set(job.entity, waiting === undefined ? job : winnerOf(waiting, job))
  }

  #sendBatches(): void {
    while (!this.#isResting && this.#requests < this.limits.maxRequests && !this.#options.signal.aborted) {
      const jobs = this.#nextBatch()
      if (jobs.length === 0) return
      this.#requests++
      this.#run(this.#sendBatch(jobs))
    }
  }

  /** Takes what the next request sends; it is in flight until it is settled. */
  #nextBatch(): Job[] {
    const { maxBytes, maxDocuments } = this.limits
    const maxRecords = this.#rate.allowed()
    const jobs: Job[] = []
    let [bytes, documents, isCutOff] = [0, 0, false]
    for (const [entity, job] of this.#waiting) {
      if (this.#inFlight.has(entity)) continue
      isCutOff = jobs.length >= maxRecords
      if (isCutOff) break
      bytes += sizeOf(job)
      documents += job.documents.length
      if (jobs.length > 0 && (bytes > maxBytes || documents > maxDocuments)) break
      this.#waiting.delete(entity)
      this.#inFlight.add(entity)
      jobs.push(job)
    }
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
    for (const { entity } of jobs) if (!waiting.has(entity)) this.#inFlight.delete(entity)
    this.#putBack(again.filter(({ failure }) => failure === undefined))
    return [...Map.groupBy(failed, ({ attempts }) => attempts)].map((each) => this.#retryLater(...each))
  }

  /** Records that have failed equally often wait together, and no others with them. */
  async #retryLater(attempts: number, jobs: readonly Job[]): Promise<void> {
    await sleep(backoffMs(attempts, this.#options.random), undefined, { signal: this.#options.signal })
    this.#putBack(jobs)
    this.#sendBatches()
  }

  /** Lets jobs be sent again, unless newer records of their entities count by now. */
  #putBack(jobs: readonly Job[]): void {
    for (const job of jobs) {
      this.#inFlight.delete(job.entity)
      this.#enqueue({ ...job, failure: undefined })
    }
  }

  /** An error is a bug, unless the writer was stopped. */
  #run(work: Promise<void>): void {
    work.catch((error: unknown) => {
      if (!this.#options.signal.aborted) this.#options.onFatal(error as Error)
    })
  }
}
