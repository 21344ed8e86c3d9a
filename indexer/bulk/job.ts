import type { Revision } from '../../src/core/model/ids.ts'
import type { Documents, DocumentWrite } from '../convertRecord.ts'

/**
 * The outcome of a record. `indexed`: at least one of its documents was stored. `stale`: its revision, or a newer one, was stored before. `conflict`: its
 * revision was stored before with other content. `rejected`: Elasticsearch will never accept it.
 */
export type Outcome =
  | { readonly kind: 'indexed' | 'stale' | 'conflict' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** The documents of one record. The records of a partition are submitted in order of offsets. */
export type RecordWrite = {
  /** The list document first. */
  readonly documents: Documents
  /** Whether its outcome is `conflict`, rather than `stale`, if its revision was stored before with other content. */
  readonly reportsConflicts: boolean
  name(): string
  /** Called once, when the outcome is final. */
  done(outcome: Outcome): void
}

export type Job = Omit<RecordWrite, 'documents'> & {
  readonly entity: string
  /** Counts the submitted records. Of two records of an entity with the same revision, the one that was submitted first wins. */
  readonly order: number
  readonly list: DocumentWrite
  readonly version: Revision
  documents: Documents
  /** Its list document, once that was found stale. */
  staleList: DocumentWrite | undefined
  /** Whether at least one of its documents was stored, as opposed to found stale. */
  isStored: boolean
  /** Whether it was rejected once, and its rejected documents are now sent without repeated JSON names. */
  isDeduplicated: boolean
  /** Whether each of its documents is sent in its own request, because one request for all was too large or met overload. */
  isSentSingly: boolean
  attempts: number
  suspicion: Suspicion | undefined
  /** Older records of the entity, which are not sent. They are stale once this record is stored. If it is rejected, the newest of them is sent. */
  superseded: Job[]
}

/** What Elasticsearch has stored of an entity. `digest`: of the content of its record; undefined for a deletion, and if it was not read. */
export type Stored = { readonly version: number; readonly digest: string | undefined }

export function newJob(write: RecordWrite, order: number): Job {
  const [list] = write.documents
  if (list === undefined) throw new Error('a record writes at least one document')
  return {
    ...write,
    entity: `${list.kind}/${list.id}`,
    order,
    list,
    version: list.version,
    staleList: undefined,
    isStored: false,
    isDeduplicated: false,
    isSentSingly: false,
    attempts: 0,
    suspicion: undefined,
    superseded: [],
  }
}

/** Returns the winner of two records of an entity, which supersedes the other: the one with the higher revision, or, with equal ones, the earlier one. */
export function winnerOf(one: Job, other: Job): Job {
  const isOneNewer = one.version === other.version ? one.order < other.order : one.version > other.version
  const [newer, older] = isOneNewer ? [one, other] : [other, one]
  // The shorter list is appended to the longer one. An entity may change ten thousand times during one request: each time, the long list would be copied.
  const isShorter = newer.superseded.length < older.superseded.length
  const [long, short] = isShorter ? [older.superseded, newer.superseded] : [newer.superseded, older.superseded]
  for (const job of [...short, older]) long.push(job)
  older.superseded = []
  newer.superseded = long
  // The newer record inherits the suspicion (`confirmSuspicion`). Otherwise an entity that changes every minute would fail for ever, and never be rejected.
  newer.suspicion ??= ofAnotherState(older.suspicion)
  return newer
}

/** Reports that a record is rejected. Returns the newest of the records that it has superseded, which now supersedes the others; undefined if it has none. */
export function reportRejection(job: Job, reason: string): Job | undefined {
  job.done({ kind: 'rejected', reason })
  for (const older of job.superseded) older.suspicion = ofAnotherState(job.suspicion)
  const [first, ...rest] = job.superseded
  return first && rest.reduce(winnerOf, first)
}

/**
 * The list document to write again, over the same revision, because it was stale and the detail document was not; undefined in any other case. Example:
 * 1. Elasticsearch stores the list document of `a@5`, but fails at its detail document for a minute. The record, at offset 10, becomes a dead letter.
 * 2. Followers read past offset 10.
 * 3. The dead letter is replayed: the record is appended again, at offset 30. Its detail document is stored. Its list document is stale, so that the index
 *    has the position of offset 10. It must get the position of offset 30: otherwise followers never get `a@5`.
 */
export const listToRepeat = ({ staleList, isStored }: Job): DocumentWrite | undefined =>
  isStored && staleList !== undefined && !staleList.replacesSameVersion
    ? { ...staleList, replacesSameVersion: true }
    : undefined

/** Whether the outcome depends on the stored content: nothing was stored, and the record, or a superseded one of its revision, reports conflicts. */
export const needsStored = (job: Job): boolean =>
  !job.isStored &&
  job.list.digest !== undefined &&
  [job, ...job.superseded].some(({ reportsConflicts, version }) => reportsConflicts && version === job.version)

/** Reports the outcome of a record, and of the records that it has superseded. `stored`: what Elasticsearch has now. */
export function reportOutcomes(job: Job, stored: Stored): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const older of job.superseded) older.done(outcomeBy(stored, older))
}

function outcomeBy(stored: Stored, { reportsConflicts, version, list: { digest } }: Job): Outcome {
  const isOther = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: reportsConflicts && isOther && stored.version === version ? 'conflict' : 'stale' }
}

/** Names the shard of a document by index and team: all documents of a team in one index are in the same shard. */
export const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

export const bytesOf = (documents: Documents): number =>
  documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** How often Elasticsearch has failed at a document while its shard accepted other writes, and when it failed first (`elapsedMs`). */
type Suspicion = { readonly sinceMs: number; readonly failures: number }

/** A record is rejected once its document has failed at least so often, and its first failure is at least this old (ms). */
const minFailures = 2
const minMs = 60_000

/** Notes that a document has failed although its shard accepts other writes. Returns whether the document counts as at fault now. */
export function confirmSuspicion(job: Job, nowMs: number): boolean {
  const { sinceMs, failures } = job.suspicion ?? { sinceMs: nowMs, failures: 0 }
  job.suspicion = { sinceMs, failures: failures + 1 }
  return failures + 1 >= minFailures && nowMs - sinceMs >= minMs
}

/** The suspicion that another state of the entity inherits: its failures are counted anew, and the time runs on from the first failure of the entity. */
const ofAnotherState = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion && { ...suspicion, failures: 0 }
