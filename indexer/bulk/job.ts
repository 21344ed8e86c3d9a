import type { Revision } from '../../src/core/model/ids.ts'
import type { Documents, DocumentWrite } from '../convertRecord.ts'

/**
 * The outcome of a record:
 * - `indexed`: at least one of its documents was stored;
 * - `stale`: its revision, or a newer one, was stored before;
 * - `conflict`: its revision was stored before with other content;
 * - `rejected`: Elasticsearch never accepts the record.
 */
export type Outcome =
  | { readonly kind: 'indexed' | 'stale' | 'conflict' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** A record to write, as the caller of `BulkWriter` submits it: the records of a partition in order of offsets. */
export type RecordWrite = {
  /** The list document (search keys and summary), then the detail document. */
  readonly documents: Documents
  /** Whether the outcome is `conflict`, rather than `stale`, if the revision was stored before with other content. */
  readonly reportsConflicts: boolean
  /** The name of the record in logs and health. */
  name(): string
  /** Called once, with the outcome. */
  done(outcome: Outcome): void
}

/**
 * How often Elasticsearch has failed at a document of the entity while the document's shard accepted other writes, and when first (`elapsedMs`, monotonic).
 * After enough failures, the document counts as at fault.
 */
type Suspicion = { readonly sinceMs: number; readonly failures: number }

/** A record that waits or is being written, with its progress. */
export type Job = Omit<RecordWrite, 'documents'> & {
  /** Such as `forms/acme/f1`. */
  readonly entity: string
  /** The number of records that were submitted before. Of two records with the same entity and revision, the earlier one wins. */
  readonly order: number
  /** The list document, as submitted. */
  readonly list: DocumentWrite
  readonly version: Revision
  /** The documents that are still to be written. */
  documents: Documents
  /** The list document, if Elasticsearch has found it stale. */
  staleList: DocumentWrite | undefined
  /** Whether at least one of its documents was stored, rather than found stale. */
  isStored: boolean
  /** Whether it was rejected once, and the rejected documents are now sent without repeated JSON names. */
  hasNamesOnce: boolean
  /** Whether each of its documents is sent in its own request, because one request for all was too large or met overload. */
  isSentSingly: boolean
  /** The number of failed attempts, which sets the backoff. */
  attempts: number
  suspicion: Suspicion | undefined
  /**
   * Other records of the entity, with lower revisions, or submitted later with the same revision. They are not sent: once this record is stored, they are
   * stale. If this record is rejected, the newest of them is sent.
   */
  superseded: Job[]
}

/** What Elasticsearch has stored of an entity. `digest`: of the record's content; undefined for a tombstone, and if the stored document was not read. */
export type StoredState = { readonly version: number; readonly digest: string | undefined }

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
    hasNamesOnce: false,
    isSentSingly: false,
    attempts: 0,
    suspicion: undefined,
    superseded: [],
  }
}

/**
 * Makes one record of an entity supersede another one. Returns the winner: the record with the higher revision or, of equal revisions, the record that was
 * submitted earlier.
 */
export function supersede(one: Job, other: Job): Job {
  const oneWins = one.version === other.version ? one.order < other.order : one.version > other.version
  const winner = oneWins ? one : other
  const loser = oneWins ? other : one
  // The shorter list is appended to the longer one, to copy little: an entity may change ten thousand times during one request.
  const isWinnersShorter = winner.superseded.length < loser.superseded.length
  const longer = isWinnersShorter ? loser.superseded : winner.superseded
  const shorter = isWinnersShorter ? winner.superseded : loser.superseded
  for (const job of [...shorter, loser]) longer.push(job)
  loser.superseded = []
  winner.superseded = longer
  // The winner inherits the suspicion. Otherwise an entity that changes every minute would never be rejected.
  winner.suspicion ??= inheritedSuspicion(loser.suspicion)
  return winner
}

/** Reports the outcome `rejected`. Returns the newest of the superseded records, which now supersedes the others; undefined if there is none. */
export function reportRejection(job: Job, reason: string): Job | undefined {
  job.done({ kind: 'rejected', reason })
  for (const superseded of job.superseded) superseded.suspicion = inheritedSuspicion(job.suspicion)
  const [first, ...others] = job.superseded
  return first === undefined ? undefined : others.reduce(supersede, first)
}

/**
 * If the detail document was stored, but the list document was stale, returns the list document, to be written again over the same revision. Otherwise returns
 * undefined. Example:
 * 1. Elasticsearch stores the list document of entity `a`, revision 5, but fails at the detail document for a minute. The record, at offset 10, becomes a dead
 *    letter.
 * 2. Clients that follow the change feed with `view=full` read past offset 10. They do not get the missing detail.
 * 3. An operator replays the dead letter: its record is appended again, at offset 30. Now the detail document is stored; the list document is stale.
 * 4. The list document is written again, with the position of offset 30. So these clients read the entity once more, with its detail.
 */
export const listToRepeat = ({ staleList, isStored }: Job): DocumentWrite | undefined =>
  isStored && staleList !== undefined && !staleList.replacesSameVersion
    ? { ...staleList, replacesSameVersion: true }
    : undefined

/**
 * Whether the stored content must be read to decide between `stale` and `conflict`: no document was stored now, the record is no deletion, and this record or a
 * superseded one of the same revision reports conflicts.
 */
export const mustCompare = (job: Job): boolean =>
  !job.isStored &&
  job.list.digest !== undefined &&
  [job, ...job.superseded].some(({ reportsConflicts, version }) => reportsConflicts && version === job.version)

/** Reports the outcomes of a record and of those that it superseded. `stored`: what Elasticsearch has after the write. */
export function reportOutcomes(job: Job, stored: StoredState): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const superseded of job.superseded) superseded.done(outcomeBy(stored, superseded))
}

/** The outcome of a record of which no document was stored. */
function outcomeBy(stored: StoredState, { reportsConflicts, version, list: { digest } }: Job): Outcome {
  const hasOtherContent = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: reportsConflicts && hasOtherContent && stored.version === version ? 'conflict' : 'stale' }
}

/** A text that stands for the shard of a document, such as `forms/acme`: all documents of a team in one index are in the same shard. */
export const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

/** The bytes of the documents in a request. */
export const bytesOf = (documents: Documents): number =>
  documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** A document counts as at fault after at least so many failures, the first of them at least so long (ms) ago. */
const minSuspiciousFailures = 2
const minSuspicionMs = 60_000

/** Counts a failure of a document whose shard accepts other writes. Returns whether the document counts as at fault now. */
export function confirmSuspicion(job: Job, nowMs: number): boolean {
  const { sinceMs, failures } = job.suspicion ?? { sinceMs: nowMs, failures: 0 }
  job.suspicion = { sinceMs, failures: failures + 1 }
  return job.suspicion.failures >= minSuspiciousFailures && nowMs - sinceMs >= minSuspicionMs
}

/** The suspicion that another record of the entity inherits: `sinceMs` stays, but the failures are counted anew. */
const inheritedSuspicion = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion === undefined ? undefined : { ...suspicion, failures: 0 }

export const onlyJobOf = (jobs: readonly Job[]): Job | undefined => (jobs.length === 1 ? jobs[0] : undefined)

/** The records (jobs) that are sent together, and what has become of them so far. */
export type Batch = {
  /** Whether at least one request of the batch had results by document. If not, Elasticsearch is away or refuses everything. */
  hasResults: boolean
  /** Records that were alone in a request with status 400, and were not rejected before. See `BatchWriter.write`. */
  readonly badRequests: { readonly job: Job; readonly reason: string }[]
  /** Records whose revision was stored before. A comparison shows whether the stored content is theirs. */
  readonly repeated: Job[]
  /** Records to send again after a backoff. */
  readonly failed: Job[]
}
