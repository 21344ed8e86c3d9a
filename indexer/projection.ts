import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { AccountKeyState } from '../src/core/model/accountKey.ts'
import { deletedRevision, type Revision } from '../src/core/model/ids.ts'
import { type Instant, toInstant } from '../src/core/model/instant.ts'
import {
  type Change,
  type RecordKey,
  readAccountKeyRecord,
  readFormRecord,
  readSubmissionRecord,
} from '../src/core/model/record.ts'
import type { Problem, Result } from '../src/core/model/result.ts'
import { type EntityType, type TeamList, teamList } from '../src/core/model/teamList.ts'
import type { Config } from '../src/core/process/config.ts'
import { type DocumentWrite, formWrites, submissionWrites } from '../src/core/stores/documents.ts'

/** What a record is converted to. */
type Projection =
  | {
      readonly kind: 'documents'
      readonly documents: DocumentWrite[]
      readonly version: Revision
      /** The list that the record's entity belongs to. */
      readonly list: TeamList
    }
  | { readonly kind: 'account-key'; readonly change: RecordKey & AccountKeyState }
  | { readonly kind: 'invalid'; readonly problem: Problem }

type TopicNames = Pick<Config, 'TOPIC_FORMS' | 'TOPIC_SUBMISSIONS' | 'TOPIC_ACCOUNT_KEYS'>

/** Validates a record against its topic's contract and converts it. `changedAtMs` is from `ChangeTimes`. Never throws. */
export function projectRecord(record: SourceRecord, changedAtMs: number, topics: TopicNames): Projection {
  const changedAt = toInstant(changedAtMs)
  switch (record.topic) {
    case topics.TOPIC_FORMS:
      return documents('forms', changedAt, readFormRecord(record.key, record.value), formWrites)
    case topics.TOPIC_SUBMISSIONS:
      return documents('submissions', changedAt, readSubmissionRecord(record.key, record.value), submissionWrites)
    case topics.TOPIC_ACCOUNT_KEYS: {
      const read = readAccountKeyRecord(record.key, record.value)
      return read.ok ? { kind: 'account-key', change: read.value } : { kind: 'invalid', problem: read.problem }
    }
    default:
      return { kind: 'invalid', problem: { path: 'topic', rule: 'is not one of the source topics' } }
  }
}

function documents<Entity>(
  type: EntityType,
  changedAt: Instant,
  read: Result<Change<Entity>>,
  writes: (change: Change<Entity>, changedAt: Instant) => DocumentWrite[],
): Projection {
  if (!read.ok) return { kind: 'invalid', problem: read.problem }
  const { teamId, live } = read.value
  return {
    kind: 'documents',
    documents: writes(read.value, changedAt),
    version: live?.revision ?? deletedRevision,
    list: teamList(type, teamId),
  }
}
