import type { AccountKey } from '../../src/core/model/accountKey.ts'
import {
  type Change,
  readAccountKeyRecord,
  readFormRecord,
  readKey,
  readSubmissionRecord,
} from '../../src/core/model/change.ts'
import { readFastSubmission } from '../../src/core/model/fastSubmission.ts'
import { deletedRevision, type Revision, type TeamId } from '../../src/core/model/ids.ts'
import { type Instant, toInstant } from '../../src/core/model/instant.ts'
import type { Problem, Result } from '../../src/core/model/result.ts'
import { type EntityType, type TeamList, teamList } from '../../src/core/model/teamList.ts'
import type { Config } from '../../src/core/process/config.ts'
import {
  type DocumentWrite,
  formWrites,
  renderedSubmissionWrites,
  submissionWrites,
} from '../../src/core/stores/documents.ts'
import type { SourceRecord } from '../../src/core/stores/sourceRecord.ts'

/** What a record is converted to. */
export type Projection =
  | {
      readonly kind: 'documents'
      readonly documents: DocumentWrite[]
      readonly version: Revision
      /** The list that the record's entity belongs to. */
      readonly list: TeamList
    }
  | { readonly kind: 'account-key'; readonly change: Change<AccountKey> }
  | { readonly kind: 'invalid'; readonly problem: Problem }

type TopicNames = Pick<Config, 'TOPIC_FORMS' | 'TOPIC_SUBMISSIONS' | 'TOPIC_ACCOUNT_KEYS'>

/** Validates a record against its topic's contract and converts it. `changedAtMs` is from `ChangeTimes`. Never throws. */
export function project(record: SourceRecord, changedAtMs: number, topics: TopicNames): Projection {
  const changedAt = toInstant(changedAtMs)
  switch (record.topic) {
    case topics.TOPIC_FORMS:
      return documents('forms', changedAt, readFormRecord(record.key, record.value), formWrites)
    case topics.TOPIC_SUBMISSIONS:
      return (
        fastSubmission(record, changedAt) ??
        documents('submissions', changedAt, readSubmissionRecord(record.key, record.value), submissionWrites)
      )
    case topics.TOPIC_ACCOUNT_KEYS: {
      const read = readAccountKeyRecord(record.key, record.value)
      return read.ok ? { kind: 'account-key', change: read.value } : { kind: 'invalid', problem: read.problem }
    }
    default:
      return { kind: 'invalid', problem: { path: 'topic', rule: 'is not one of the source topics' } }
  }
}

/** The fast path: the same result as `documents` in one pass over the bytes; undefined when the record needs the slow path. */
function fastSubmission(record: SourceRecord, changedAt: Instant): Projection | undefined {
  const key = readKey(record.key)
  if (!key.ok || record.value === null) return undefined
  const submission = readFastSubmission(key.value.entityId, record.value)
  if (submission === undefined) return undefined
  const documents = renderedSubmissionWrites(key.value, submission, changedAt)
  return storing('submissions', key.value.teamId, submission.revision, documents)
}

function documents<Entity>(
  type: EntityType,
  changedAt: Instant,
  read: Result<Change<Entity>>,
  writes: (change: Change<Entity>, changedAt: Instant) => DocumentWrite[],
): Projection {
  if (!read.ok) return { kind: 'invalid', problem: read.problem }
  const { teamId, live } = read.value
  return storing(type, teamId, live?.revision ?? deletedRevision, writes(read.value, changedAt))
}

const storing = (type: EntityType, teamId: TeamId, version: Revision, documents: DocumentWrite[]): Projection => ({
  kind: 'documents',
  documents,
  version,
  list: teamList(type, teamId),
})
