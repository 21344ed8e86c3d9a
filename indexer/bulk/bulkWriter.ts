import type { CheckOutcome } from '../../src/core/monitoring/health.ts'
import { BatchWriter, type BatchWriterOptions, type BlockedRecord } from './batchWriter.ts'
import { type BulkBounds, BulkQueue } from './bulkQueue.ts'
import { BulkScheduler, type SchedulerOptions } from './bulkScheduler.ts'
import type { RecordWrite } from './job.ts'

type WriterOptions = BulkBounds & SchedulerOptions & BatchWriterOptions

/**
 * Stores records in bulk requests, and retries failures that may pass. Records wait in `BulkQueue`; `BulkScheduler` decides when the next batch is sent;
 * `BatchWriter` sends it, and decides the fate of each record.
 */
export class BulkWriter {
  readonly #batchWriter: BatchWriter
  readonly #scheduler: BulkScheduler

  constructor(options: WriterOptions) {
    const queue = new BulkQueue(options)
    this.#batchWriter = new BatchWriter(options, queue)
    this.#scheduler = new BulkScheduler(options, queue, this.#batchWriter)
  }

  /** The queue has no bound of its own: the caller bounds the bytes in flight. */
  submit(write: RecordWrite): void {
    this.#scheduler.submit(write)
  }

  /** Fails while a record waits for a retry. */
  health(): CheckOutcome {
    return this.#batchWriter.health()
  }

  /** The record that `health` names. */
  blocked(): BlockedRecord | undefined {
    return this.#batchWriter.blocked()
  }
}
