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
  /** Undefined for a rebuild: the running indexers write dead letters and apply account keys. The rebuild counts such records as stale. */
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

/** Validates records, and writes or rejects them. Uses callbacks: a promise for each of thousands of records a second would cost too much. */
export class RecordHandler {
  readonly #options: HandlerOptions
  /** `partitionName` → the offset after the last rejected record; only in a rebuild. */
  readonly rejectedBelow = new Map<string, bigint>()

  constructor(options: HandlerOptions) {
    this.#options = options
  }

  /** `onRecord` in `consumer.ts` describes when `onProcessed` is called. Never throws. */
  handle(record: SourceRecord, assigned: AssignedPartition, onProcessed: () => void): void {
    const converted = convertRecord(record, this.#options.config)
    if (converted.kind === 'documents') this.#writeDocuments(record, assigned, converted, onProcessed)
    else if (converted.kind === 'account-key') this.#applyAccountKey(record, assigned, converted.change, onProcessed)
    else this.#reject(record, assigned, converted.problem, onProcessed)
  }

  #writeDocuments(
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
      this.#applyResult(record, assigned, resultOf(outcome), onProcessed)
    }
    // A conflict below `deadLetteredBelow` has its dead letter already; a rebuild reports none.
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
    if (serving === undefined) this.#countProcessed(record, 'stale', onProcessed)
    else {
      const applying = serving.accountKeys.apply(change, record, signal)
      this.#failUnlessDone(applying.then((result) => this.#applyResult(record, assigned, result, onProcessed)))
    }
  }

  #applyResult(record: SourceRecord, assigned: AssignedPartition, result: RecordResult, onProcessed: () => void): void {
    const isProblem = typeof result !== 'string'
    if (isProblem) this.#reject(record, assigned, result, onProcessed)
    else {
      this.#options.serving?.deadLetters.noteAccepted(record)
      this.#countProcessed(record, result, onProcessed)
    }
  }

  #reject(record: SourceRecord, assigned: AssignedPartition, problem: Problem, onProcessed: () => void): void {
    const { serving, metrics } = this.#options
    if (serving === undefined) {
      const name = partitionName(record)
      if (record.offset >= (this.rejectedBelow.get(name) ?? 0n)) this.rejectedBelow.set(name, record.offset + 1n)
      this.#countProcessed(record, 'stale', onProcessed)
    } else if (assigned.assignmentEnd.aborted) {
      // The next owner reads this record again, and writes its dead letter.
      this.#countProcessed(record, 'stale', onProcessed)
    } else {
      if (problem === sameRevision) metrics.revisionConflicts.inc({ topic: record.topic })
      const rejecting = serving.deadLetters.reject(record, problem, assigned)
      this.#failUnlessDone(rejecting.then((outcome) => this.#countProcessed(record, outcome, onProcessed)))
    }
  }

  #countProcessed({ topic }: SourceRecord, outcome: RecordOutcome, onProcessed: () => void): void {
    this.#options.metrics.records.inc({ topic, outcome })
    onProcessed()
  }

  /** Failures of Kafka and Redis are retried: a rejection, except during shutdown, is a bug. */
  #failUnlessDone(handling: Promise<void>): void {
    const { signal, fail } = this.#options
    handling.catch((error: unknown) => {
      if (!signal.aborted) fail(error)
    })
  }
}

function resultOf(outcome: Outcome): RecordResult {
  if (outcome.kind === 'rejected') return { path: 'document', rule: outcome.reason }
  if (outcome.kind === 'conflict') return sameRevision
  return outcome.kind
}

/** The key may be logged: it was validated, and contains only ids. */
const nameOf = ({ topic, partition, offset, key }: SourceRecord): string =>
  `${topic}/${partition}/${offset}, key ${key?.toString()}`
