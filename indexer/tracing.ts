import { tracingChannel } from 'node:diagnostics_channel'
import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { Outcome } from './bulk/job.ts'
import type { Documents } from './convertRecord.ts'

/** Publishes each bulk request. `deploy/tracing/records.mjs` subscribes to both channels of this file. */
export const bulkChannel = tracingChannel<unknown, { documents: Documents; bytes: number }>('tidemark.bulk')

/**
 * Messages of `bulkChannel` have the same document objects, so a subscriber finds a record's bulk request by object identity; except that a document sent again
 * without repeated JSON names is a new object.
 */
type TracedRecord = { readonly record: SourceRecord; readonly documents: Documents; outcome?: Outcome['kind'] }

/** Publishes `start` when a record is converted, and `asyncEnd` when it has its outcome. */
const recordChannel = tracingChannel<unknown, TracedRecord>('tidemark.record')

/** Returns a function that publishes the outcome; undefined if nobody subscribes. */
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
