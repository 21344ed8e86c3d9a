import { tracingChannel } from 'node:diagnostics_channel'
import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { Outcome } from './bulk/job.ts'
import type { Documents } from './convertRecord.ts'

/**
 * A record and its documents. Subscribers find the bulk request of a document by object identity: the messages of `bulkChannel` have the same objects. Only a
 * document that is sent again without repeated JSON names is another object.
 */
type WrittenRecord = { readonly record: SourceRecord; readonly documents: Documents; outcome?: Outcome['kind'] }

/** Publishes `start` when a record is converted, and `asyncEnd` when it has its outcome. */
const recordChannel = tracingChannel<unknown, WrittenRecord>('tidemark.record')

/** One bulk request, from its call to its response. */
export const bulkChannel = tracingChannel<unknown, { documents: Documents; bytes: number }>('tidemark.bulk')

/** Publishes that a record is written. Returns a function that publishes its outcome; undefined while the channel has no subscriber. */
export function traceRecord(
  record: SourceRecord,
  documents: Documents,
): ((outcome: Outcome['kind']) => void) | undefined {
  if (!recordChannel.hasSubscribers) return undefined
  const message: WrittenRecord = { record, documents }
  recordChannel.start.publish(message)
  return (outcome: Outcome['kind']): void => {
    message.outcome = outcome
    recordChannel.asyncEnd.publish(message)
  }
}
