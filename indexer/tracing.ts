import { tracingChannel } from 'node:diagnostics_channel'
import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { Outcome } from './bulk/job.ts'
import type { Documents } from './convertRecord.ts'

/** A record that becomes documents. Its bulk request holds the same objects, unless names had to be removed from one. */
type WrittenRecord = { readonly record: SourceRecord; readonly documents: Documents; outcome?: Outcome['kind'] }

/** `start` when a record has been read and rendered, `asyncEnd` once it has its outcome. */
const recordChannel = tracingChannel<unknown, WrittenRecord>('tidemark.record')

/** One bulk request, from its call to its response. */
export const bulkChannel = tracingChannel<unknown, { documents: Documents; bytes: number }>('tidemark.bulk')

/** Tells whoever traces records that one is written now, and by the returned function its outcome. Undefined while nobody traces. */
export function traceRecord(record: SourceRecord, documents: Documents) {
  if (!recordChannel.hasSubscribers) return undefined
  const message: WrittenRecord = { record, documents }
  recordChannel.start.publish(message)
  return (outcome: Outcome['kind']): void => {
    message.outcome = outcome
    recordChannel.asyncEnd.publish(message)
  }
}
