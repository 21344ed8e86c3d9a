import type { Revision } from '../../src/core/model/ids.ts'
import type { Documents, DocumentWrite } from '../convertRecord.ts'

/**
 * The outcome of a record. `indexed`: at least one of its documents was stored. `stale`: its revision, or a newer one, was stored before. `conflict`: its
 * revision was stored before with other content. `rejected`: Elasticsearch never accepts it.
 */
export type Outcome =
  | { readonly kind: 'indexed' | 'stale' | 'conflict' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** The records of a partition are submitted in order of offsets. */
export type RecordWrite = {
  /** The list document first. */
  readonly documents: Documents
  /** Whether the outcome of a revision that was stored before with other content is `conflict`, rather than `stale`. */
  readonly reportsConflicts: boolean
  name(): string
  done(outcome: Outcome): void
}

export type Job = Omit<RecordWrite, 'documents'> & {
  readonly entity: string
  /** Counts the submitted records. Of two records with the same entity and revision, the earlier one wins. */
  readonly order: number
  readonly list: DocumentWrite
  readonly version: Revision
  documents: Documents
  staleList: DocumentWrite | undefined
  /** Whether at least one of its documents was stored, rather than found stale. */
  isStored: boolean
  /** Whether it was rejected once, and its rejected documents are now sent without repeated JSON names. */
  isDeduplicated: boolean
  /** Whether each of its documents is sent in its own request, because one request for all was too large or met overload. */
  isSentSingly: boolean
  attempts: number
  suspicion: Suspicion | undefined
  /** Older records of the entity. They are stale once this record is stored. If it is rejected, the newest of them is sent. */
  superseded: Job[]
}

/** What Elasticsearch has stored. `digest`: of the record's content; undefined for a deletion, and if it was not read. */
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

/** Returns the record that supersedes the other one: that with the higher revision, or, of equal revisions, the earlier one. */
export function winnerOf(one: Job, other: Job): Job {
  const isOneNewer = one.version === other.version ? one.order < other.order : one.version > other.version
  const [newer, older] = isOneNewer ? [one, other] : [other, one]
  // The shorter list is appended: an entity may change ten thousand times during one request, and the long list would be copied each time.
  const isShorter = newer.superseded.length < older.superseded.length
  const [long, short] = isShorter ? [older.superseded, newer.superseded] : [newer.superseded, older.superseded]
  for (const job of [...short, older]) long.push(job)
  older.superseded = []
  newer.superseded = long
  // The newer record inherits the suspicion. Otherwise an entity that changes every minute would fail for ever, and never be rejected.
  newer.suspicion ??= ofAnotherState(older.suspicion)
  return newer
}

/** Reports a rejection. Returns the newest of the superseded records, which now supersedes the others; undefined if there is none. */
export function reportRejection(job: Job, reason: string): Job | undefined {
  job.done({ kind: 'rejected', reason })
  for (const older of job.superseded) older.suspicion = ofAnotherState(job.suspicion)
  const [first, ...rest] = job.superseded
  return first && rest.reduce(winnerOf, first)
}

/**
 * If only the list document was stale, returns it, to be written again over the same revision. Example:
 * 1. Elasticsearch stores the list document of `a@5`, but fails at its detail document for a minute. The record, at offset 10, becomes a dead letter.
 * 2. Followers read past offset 10.
 * 3. The dead letter is appended again, at offset 30. Its detail document is stored, its list document is stale. The list document must get the position of
 *    offset 30: otherwise followers never get `a@5`.
 */
export const listToRepeat = ({ staleList, isStored }: Job): DocumentWrite | undefined =>
  isStored && staleList !== undefined && !staleList.replacesSameVersion
    ? { ...staleList, replacesSameVersion: true }
    : undefined

/** Whether the outcome depends on the stored content: nothing was stored, and a record of this revision reports conflicts. */
export const needsStored = (job: Job): boolean =>
  !job.isStored &&
  job.list.digest !== undefined &&
  [job, ...job.superseded].some(({ reportsConflicts, version }) => reportsConflicts && version === job.version)

/** `stored`: what Elasticsearch has now. */
export function reportOutcomes(job: Job, stored: Stored): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const older of job.superseded) older.done(outcomeBy(stored, older))
}

function outcomeBy(stored: Stored, { reportsConflicts, version, list: { digest } }: Job): Outcome {
  const isOther = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: reportsConflicts && isOther && stored.version === version ? 'conflict' : 'stale' }
}

/** All documents of a team in one index are in the same shard. */
export const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

export const bytesOf = (documents: Documents): number =>
  documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** How often Elasticsearch has failed at a document while its shard accepted other writes, and when first (`elapsedMs`). */
type Suspicion = { readonly sinceMs: number; readonly failures: number }

/** A record is rejected after at least so many failures of its document, the first at least this long ago (ms). */
const minFailures = 2
const minMs = 60_000

/** Counts a failure of a document whose shard accepts other writes. Returns whether the document is at fault. */
export function confirmSuspicion(job: Job, nowMs: number): boolean {
  const { sinceMs, failures } = job.suspicion ?? { sinceMs: nowMs, failures: 0 }
  job.suspicion = { sinceMs, failures: failures + 1 }
  return failures + 1 >= minFailures && nowMs - sinceMs >= minMs
}

/** The suspicion that another record of the entity inherits: the failures are counted anew; the time goes on. */
const ofAnotherState = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion && { ...suspicion, failures: 0 }
