import { tracingChannel } from 'node:diagnostics_channel'
import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { DocumentWrite } from '../src/core/stores/documents.ts'
import type { Outcome } from './bulk/job.ts'

/** A record that becomes documents. Its bulk request holds the same objects, unless names had to be removed from one. */
type WrittenRecord = {
  readonly record: SourceRecord
  readonly documents: readonly DocumentWrite[]
  outcome?: Outcome['kind']
}

/** `start` when a record has been read and rendered, `asyncEnd` once it has its outcome. */
const recordChannel = tracingChannel<unknown, WrittenRecord>('tidemark.record')

/** One bulk request, from its call to its response. */
export const bulkChannel = tracingChannel<unknown, { readonly documents: readonly DocumentWrite[]; bytes: number }>(
  'tidemark.bulk',
)

const toNobody = (): void => undefined

/** Tells whoever traces records that one is written now; what it returns tells the outcome. */
export function announceRecord(
  record: SourceRecord,
  documents: readonly DocumentWrite[],
): (outcome: Outcome['kind']) => void {
  if (!recordChannel.hasSubscribers) return toNobody
  const message: WrittenRecord = { record, documents }
  recordChannel.start.publish(message)
  return (outcome) => {
    message.outcome = outcome
    recordChannel.asyncEnd.publish(message)
  }
}
