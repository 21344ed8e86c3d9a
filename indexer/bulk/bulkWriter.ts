import { BatchWriter, type BatchWriterOptions } from './batchWriter.ts'
import { type BulkBounds, BulkQueue } from './bulkQueue.ts'
import { BulkScheduler, type SchedulerOptions } from './bulkScheduler.ts'
import type { RecordWrite } from './job.ts'

type WriterOptions = BulkBounds & SchedulerOptions & BatchWriterOptions

/**
 * Stores records in bulk requests, and retries failures that may pass, with full jitter. Calls go one way: `BulkScheduler` takes a batch from `BulkQueue` and
 * passes it to `BatchWriter`, which sends it, and finishes its jobs or puts them back into the queue.
 */
export class BulkWriter {
  readonly #batchWriter: BatchWriter
  readonly #scheduler: BulkScheduler

  constructor(options: WriterOptions) {
    const queue = new BulkQueue(options)
    const batchWriter = new BatchWriter(options, queue)
    this.#batchWriter = batchWriter
    this.#scheduler = new BulkScheduler(options, queue, (jobs) => batchWriter.write(jobs))
  }

  /** Writes a record. The caller bounds the bytes in flight. */
  submit(write: RecordWrite): void {
    this.#scheduler.submit(write)
  }

  /** Names the record that failed first, its age since then, and the last error; undefined while no record waits after a failure. */
  blockedReason(): string | undefined {
    return this.#batchWriter.blockedReason()
  }

  /** Milliseconds since the first failure of the record that failed first; 0 while no record waits after a failure. */
  blockedMs(): number {
    return this.#batchWriter.blockedMs()
  }
}
