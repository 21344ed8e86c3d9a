import { tracingChannel } from 'node:diagnostics_channel'
import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { Outcome } from './bulk/job.ts'
import type { Documents } from './convertRecord.ts'

/**
 * Subscribers find the bulk request of a document by object identity: messages of `bulkChannel` have the same document objects, except that a document sent
 * again without repeated JSON names is a new object.
 */
type TracedRecord = { readonly record: SourceRecord; readonly documents: Documents; outcome?: Outcome['kind'] }

/** Publishes `start` when a record is converted, and `asyncEnd` when it has its outcome. */
const recordChannel = tracingChannel<unknown, TracedRecord>('tidemark.record')

export const bulkChannel = tracingChannel<unknown, { documents: Documents; bytes: number }>('tidemark.bulk')

/** Returns a function that publishes the outcome of the record; undefined without subscribers. */
export function traceRecord(
  record: SourceRecord,
  documents: Documents,
): ((outcome: Outcome['kind']) => void) | undefined {
  if (!recordChannel.hasSubscribers) return undefined
  const message: TracedRecord = { record, documents }
  recordChannel.start.publish(message)
  return (outcome: Outcome['kind']): void => {
    message.outcome = outcome
    recordChannel.asyncEnd.publish(message)
  }
}
