import type { CheckOutcome } from '../../src/core/monitoring/health.ts'
import { BatchWriter, type BatchWriterOptions, type BlockedRecord } from './batchWriter.ts'
import { type BulkBounds, BulkQueue } from './bulkQueue.ts'
import { BulkScheduler, type SchedulerOptions } from './bulkScheduler.ts'
import type { RecordWrite } from './job.ts'

type WriterOptions = BulkBounds & SchedulerOptions & BatchWriterOptions

/**
 * Stores records in bulk requests, and retries failures that may pass. `BulkQueue` has the records that wait; `BulkScheduler` decides when the next batch of
 * them is sent; `BatchWriter` sends it, and decides the fate of each record.
 */
export class BulkWriter {
  readonly #batchWriter: BatchWriter
  readonly #scheduler: BulkScheduler

  constructor(options: WriterOptions) {
    const queue = new BulkQueue(options)
    this.#batchWriter = new BatchWriter(options, queue)
    this.#scheduler = new BulkScheduler(options, queue, this.#batchWriter)
  }

  /** Queues a record. The queue has no bound of its own: the caller bounds the bytes in flight. */
  submit(write: RecordWrite): void {
    this.#scheduler.submit(write)
  }

  /** Fails while a record waits for a retry. The problem names the record that has waited longest, and its last error. */
  health(): CheckOutcome {
    return this.#batchWriter.health()
  }

  /** The record that `health` names; undefined while none waits. */
  blocked(): BlockedRecord | undefined {
    return this.#batchWriter.blocked()
  }
}
