import type { Config } from '../src/core/config/config.ts'
import { partitionName, type SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { TeamList } from '../src/core/model/ids.ts'
import type { Problem } from '../src/core/model/schema.ts'
import type { AccountKeys, KeyChange, RecordResult } from './accountKeys.ts'
import type { AssignedPartition } from './assignedPartition.ts'
import type { BulkWriter } from './bulk/bulkWriter.ts'
import type { Outcome } from './bulk/job.ts'
import { convertRecord, type Documents } from './convertRecord.ts'
import { type DeadLetterWriter, sameRevision } from './deadLetters/deadLetters.ts'
import type { PipelineMetrics, RecordOutcome } from './metrics.ts'
import type { ProgressPublisher } from './progressPublisher.ts'
import { traceRecord } from './tracing.ts'

type HandlerOptions = {
  readonly config: Config
  readonly metrics: Pick<PipelineMetrics, 'records' | 'revisionConflicts'>
  readonly writer: Pick<BulkWriter, 'submit'>
  readonly publisher: Pick<ProgressPublisher, 'noteWrite'>
  /** Undefined for a rebuild: the live indexers handle rejected records and account keys, and the rebuild counts them as stale. */
  readonly serving:
    | {
        readonly deadLetters: Pick<DeadLetterWriter, 'noteAccepted' | 'reject'>
        readonly accountKeys: Pick<AccountKeys, 'apply'>
      }
    | undefined
  readonly signal: AbortSignal
  /** Called with an error that is a bug. */
  fail(error: unknown): void
}

/** Handles the records of a pipeline. Calls back when a record is processed: a promise for each of thousands of records would cost too much. */
export class RecordHandler {
  readonly #options: HandlerOptions
  /** `partitionName` → the offset after the last record that a rebuild rejected. */
  readonly rejectedBelow = new Map<string, bigint>()

  constructor(options: HandlerOptions) {
    this.#options = options
  }

  /** Validates a record, and writes or rejects it. When `onProcessed` is called: see `onRecord` in `consumer.ts`. Never throws. */
  handle(record: SourceRecord, assigned: AssignedPartition, onProcessed: () => void): void {
    const converted = convertRecord(record, this.#options.config)
    if (converted.kind === 'documents') this.#write(record, assigned, converted, onProcessed)
    else if (converted.kind === 'account-key') this.#applyAccountKey(record, assigned, converted.change, onProcessed)
    else this.#reject(record, assigned, converted.problem, onProcessed)
  }

  #write(
    record: SourceRecord,
    assigned: AssignedPartition,
    { documents, list }: { readonly documents: Documents; readonly list: TeamList },
    onProcessed: () => void,
  ): void {
    const { writer, publisher, serving } = this.#options
    const traceOutcome = traceRecord(record, documents)
    const done = (outcome: Outcome): void => {
      traceOutcome?.(outcome.kind)
      assigned.visible.noteWrite(list, record.offset)
      publisher.noteWrite(list)
      this.#settle(record, assigned, resultOf(outcome), onProcessed)
    }
    // Conflicts below `deadLetteredBelow` were reported before; a rebuild reports no conflicts.
    const reportsConflicts = serving !== undefined && record.offset >= assigned.start.deadLetteredBelow
    writer.submit({ documents, reportsConflicts, name: () => nameOf(record), done })
  }

  #applyAccountKey(
    record: SourceRecord,
    assigned: AssignedPartition,
    change: KeyChange,
    onProcessed: () => void,
  ): void {
    const { serving, signal } = this.#options
    if (serving === undefined) this.#count(record, 'stale', onProcessed)
    else {
      const applied = serving.accountKeys.apply(change, record, signal)
      this.#failUnlessDone(applied.then((result) => this.#settle(record, assigned, result, onProcessed)))
    }
  }

  #settle(record: SourceRecord, assigned: AssignedPartition, result: RecordResult, onProcessed: () => void): void {
    if (typeof result !== 'string') this.#reject(record, assigned, result, onProcessed)
    else {
      this.#options.serving?.deadLetters.noteAccepted(record)
      this.#count(record, result, onProcessed)
    }
  }

  /** A live indexer that still owns the partition writes the record's dead letter. Others only count the record, as stale. */
  #reject(record: SourceRecord, assigned: AssignedPartition, problem: Problem, onProcessed: () => void): void {
    const { serving, metrics } = this.#options
    if (serving === undefined) {
      const name = partitionName(record)
      if (record.offset >= (this.rejectedBelow.get(name) ?? 0n)) this.rejectedBelow.set(name, record.offset + 1n)
      this.#count(record, 'stale', onProcessed)
    } else if (assigned.assignmentEnd.aborted) {
      // The next owner of the partition reads this record again, and writes its dead letter.
      this.#count(record, 'stale', onProcessed)
    } else {
      if (problem === sameRevision) metrics.revisionConflicts.inc({ topic: record.topic })
      const letter = serving.deadLetters.reject(record, problem, assigned)
      this.#failUnlessDone(letter.then((outcome) => this.#count(record, outcome, onProcessed)))
    }
  }

  #count({ topic }: SourceRecord, outcome: RecordOutcome, onProcessed: () => void): void {
    this.#options.metrics.records.inc({ topic, outcome })
    onProcessed()
  }

  /** Stops the pipeline if `handling` rejects. `handling` retries failures of Kafka and Redis, so a rejection is a bug, except during shutdown. */
  #failUnlessDone(handling: Promise<void>): void {
    const { signal, fail } = this.#options
    handling.catch((error: unknown) => {
      if (!signal.aborted) fail(error)
    })
  }
}

function resultOf(outcome: Outcome): RecordResult {
  if (outcome.kind === 'rejected') return { path: 'document', rule: outcome.reason }
  return outcome.kind === 'conflict' ? sameRevision : outcome.kind
}

/** The key was validated, and contains only ids. */
const nameOf = ({ topic, partition, offset, key }: SourceRecord): string =>
  `${topic}/${partition}/${offset}, key ${key?.toString()}`
