import type { SourceRecord } from '../src/core/kafka/sourceRecord.ts'
import type { AccountKeyState } from '../src/core/model/accountKey.ts'
import { type EntityType, type TeamList, teamList } from '../src/core/model/ids.ts'
import { type Instant, toInstant } from '../src/core/model/instant.ts'
import {
  type Change,
  type RecordKey,
  readAccountKeyRecord,
  readFormRecord,
  readSubmissionRecord,
} from '../src/core/model/record.ts'
import type { Problem, Result } from '../src/core/model/schema.ts'
import type { Config } from '../src/core/process/config.ts'
import { type DocumentWrite, formWrites, submissionWrites } from '../src/core/stores/renderDocuments.ts'

type Converted =
  | {
      readonly kind: 'documents'
      readonly documents: DocumentWrite[]
      /** The list that the record's entity belongs to. */
      readonly list: TeamList
    }
  | { readonly kind: 'account-key'; readonly change: RecordKey & AccountKeyState }
  | { readonly kind: 'rejected'; readonly problem: Problem }

type TopicNames = Pick<Config, 'TOPIC_FORMS' | 'TOPIC_SUBMISSIONS'>

/** Validates a record of a source topic against the topic's contract and converts it. `changedAtMs` is from `ChangeTimes`. Never throws. */
export function convertRecord({ topic, key, value }: SourceRecord, changedAtMs: number, topics: TopicNames): Converted {
  if (topic === topics.TOPIC_FORMS) return toDocuments('forms', changedAtMs, readFormRecord(key, value), formWrites)
  if (topic === topics.TOPIC_SUBMISSIONS)
    return toDocuments('submissions', changedAtMs, readSubmissionRecord(key, value), submissionWrites)
  const read = readAccountKeyRecord(key, value)
  return read.ok ? { kind: 'account-key', change: read.value } : { kind: 'rejected', problem: read.problem }
}

function toDocuments<Entity>(
  type: EntityType,
  changedAtMs: number,
  read: Result<Change<Entity>>,
  writes: (change: Change<Entity>, changedAt: Instant) => DocumentWrite[],
): Converted {
  if (!read.ok) return { kind: 'rejected', problem: read.problem }
  const documents = writes(read.value, toInstant(changedAtMs))
  return { kind: 'documents', documents, list: teamList(type, read.value.teamId) }
}
