import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../backoff.ts'
import type { BatchWriter } from './batchWriter.ts'
import type { BulkQueue, Lane } from './bulkQueue.ts'
import type { Job, RecordWrite } from './job.ts'

export type SchedulerOptions = {
  /** No limit if undefined. */
  readonly maxRecordsPerSecond?: number | undefined
  readonly random: () => number
  readonly signal: AbortSignal
  /** Called with an error that is a bug. The records of its batch are never committed. */
  onFatal(error: Error): void
}

/** In the lane `ordinary`; only one in the lane `withoutPrimary`, and during overload. */
const maxBatchesInFlight = 2
/** With `maxRecordsPerSecond`, a batch has at most the records of this time (s), but at least one. */
const burstSeconds = 0.1

/** Decides when to send the next batch of the queue, and queues its failed jobs again after a backoff. */
export class BulkScheduler {
  readonly #options: SchedulerOptions
  readonly #queue: BulkQueue
  readonly #batchWriter: Pick<BatchWriter, 'write'>
  readonly #batchesInFlight: Record<Lane, number> = { withoutPrimary: 0, ordinary: 0 }
  readonly #maxRecordsPerSecond: number
  #isScheduled = false
  /** Whether `maxRecordsPerSecond` forbids to send a batch now. */
  #isResting = false

  constructor(options: SchedulerOptions, queue: BulkQueue, batchWriter: Pick<BatchWriter, 'write'>) {
    this.#options = options
    this.#queue = queue
    this.#batchWriter = batchWriter
    this.#maxRecordsPerSecond = options.maxRecordsPerSecond ?? Number.POSITIVE_INFINITY
  }

  /** Sends the record in a later turn of the event loop, so that the records of one fetch share a request. */
  submit(write: RecordWrite): void {
    this.#queue.add(write)
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#sendBatches()
    })
  }

  /** `work` rejects only because of a bug, or once the writer is stopped. */
  run(work: Promise<void>): void {
    work
      .then(() => this.#sendBatches())
      .catch((error: unknown) => {
        if (!this.#options.signal.aborted) this.#options.onFatal(error as Error)
      })
  }

  #sendBatches(): void {
    this.#sendFrom('withoutPrimary', 1)
    this.#sendFrom('ordinary', this.#queue.isOverloaded ? 1 : maxBatchesInFlight)
  }

  #sendFrom(lane: Lane, maxInFlight: number): void {
    const maxRecords = Math.max(1, Math.floor(this.#maxRecordsPerSecond * burstSeconds))
    while (!this.#isResting && this.#batchesInFlight[lane] < maxInFlight && !this.#options.signal.aborted) {
      const jobs = this.#queue.nextBatch(lane, maxRecords)
      if (jobs.length === 0) return
      this.#batchesInFlight[lane]++
      this.run(this.#sendBatch(lane, jobs))
      if (this.#maxRecordsPerSecond < Number.POSITIVE_INFINITY) this.run(this.#rest(jobs.length))
    }
  }

  async #sendBatch(lane: Lane, jobs: readonly Job[]): Promise<void> {
    const { hasResults, failed, comparison } = await this.#batchWriter.write(jobs)
    if (comparison !== undefined) this.run(comparison.then((uncompared) => this.retryLater(uncompared)))
    const retries = this.retryLater(failed)
    // A batch without results counts as in flight until its backoff ends, so that Elasticsearch gets fewer requests.
    if (!hasResults) await retries
    else this.run(retries)
    this.#batchesInFlight[lane]--
  }

  async retryLater(failed: readonly Job[]): Promise<void> {
    const { random, signal } = this.#options
    const retries = [...Map.groupBy(failed, ({ attempts }) => attempts)].map(async ([attempts, jobs]) => {
      await sleep(backoffMs(attempts, random), undefined, { signal })
      for (const job of jobs) this.#queue.putBack(job)
      this.#sendBatches()
    })
    await Promise.all(retries)
  }

  async #rest(records: number): Promise<void> {
    this.#isResting = true
    await sleep((records / this.#maxRecordsPerSecond) * 1_000, undefined, { signal: this.#options.signal })
    this.#isResting = false
  }
}
