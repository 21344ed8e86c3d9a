import type { Revision } from '../../src/core/model/ids.ts'
import type { Documents, DocumentWrite } from '../convertRecord.ts'

/**
 * The outcome of a record. `indexed`: at least one of its documents was stored. `stale`: its revision, or a newer one, was stored before. `conflict`: its
 * revision was stored before with other content. `rejected`: Elasticsearch never accepts the record.
 */
export type Outcome =
  | { readonly kind: 'indexed' | 'stale' | 'conflict' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** A record to write. The records of a partition are submitted in order of offsets. */
export type RecordWrite = {
  /** The list document first. */
  readonly documents: Documents
  /** Whether the outcome is `conflict`, rather than `stale`, if the revision was stored before with other content. */
  readonly reportsConflicts: boolean
  name(): string
  done(outcome: Outcome): void
}

/** A record in the queue, with its progress. */
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
  /** Whether it was rejected once, and the rejected documents are now sent without repeated JSON names. */
  hasNamesOnce: boolean
  /** Whether each of its documents is sent in its own request, because one request for all was too large or met overload. */
  isSentSingly: boolean
  attempts: number
  suspicion: Suspicion | undefined
  /** Older records of the entity. They are stale once this record is stored. If it is rejected, the newest of them is sent. */
  superseded: Job[]
}

/** What Elasticsearch has stored. `digest`: of the record's content; undefined for a deletion, and if it was not read. */
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

/** Makes one record supersede the other, and returns the winner: the record with the higher revision, or, of equal revisions, the earlier record. */
export function supersede(one: Job, other: Job): Job {
  const oneWins = one.version === other.version ? one.order < other.order : one.version > other.version
  const [winner, loser] = oneWins ? [one, other] : [other, one]
  // The shorter list is appended to the longer one, to copy little: an entity may change ten thousand times during one request.
  const isWinnersShorter = winner.superseded.length < loser.superseded.length
  const [long, short] = isWinnersShorter ? [loser.superseded, winner.superseded] : [winner.superseded, loser.superseded]
  for (const job of [...short, loser]) long.push(job)
  loser.superseded = []
  winner.superseded = long
  // The winner inherits the suspicion. Otherwise an entity that changes every minute would never be rejected.
  winner.suspicion ??= inheritedSuspicion(loser.suspicion)
  return winner
}

/** Reports a rejection. Returns the newest of the superseded records, which now supersedes the others; undefined if there is none. */
export function reportRejection(job: Job, reason: string): Job | undefined {
  job.done({ kind: 'rejected', reason })
  for (const older of job.superseded) older.suspicion = inheritedSuspicion(job.suspicion)
  const [older, ...others] = job.superseded
  return older && others.reduce(supersede, older)
}

/**
 * If only the list document was stale, returns it, to be written again over the same revision. Example:
 * 1. Elasticsearch stores the list document of entity `a`, revision 5, but fails at the detail document for a minute. The record, at offset 10, becomes a dead
 *    letter.
 * 2. Followers with `view=full` read past offset 10, without the missing detail.
 * 3. The dead letter is replayed, at offset 30. Its detail document is stored; its list document is stale. Only if the list document gets the position of
 *    offset 30, these followers read the detail.
 */
export const listToRepeat = ({ staleList, isStored }: Job): DocumentWrite | undefined =>
  isStored && staleList !== undefined && !staleList.replacesSameVersion
    ? { ...staleList, replacesSameVersion: true }
    : undefined

/** Whether the stored content decides between `stale` and `conflict`: no document was stored now, and a record of this revision reports conflicts. */
export const mustCompare = (job: Job): boolean =>
  !job.isStored &&
  job.list.digest !== undefined &&
  [job, ...job.superseded].some(({ reportsConflicts, version }) => reportsConflicts && version === job.version)

/** `stored`: what Elasticsearch has after the write. */
export function reportOutcomes(job: Job, stored: StoredState): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const older of job.superseded) older.done(outcomeBy(stored, older))
}

function outcomeBy(stored: StoredState, { reportsConflicts, version, list: { digest } }: Job): Outcome {
  const isOther = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: reportsConflicts && isOther && stored.version === version ? 'conflict' : 'stale' }
}

/** All documents of a team in one index are in the same shard. */
export const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

export const bytesOf = (documents: Documents): number =>
  documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** How often Elasticsearch has failed at a document while its shard accepted other writes, and when first (`elapsedMs`). */
type Suspicion = { readonly sinceMs: number; readonly failures: number }

/** A record is rejected after at least so many failures of its document, the first at least so long ago (ms). */
const minSuspiciousFailures = 2
const minSuspicionMs = 60_000

/** Counts a failure of a document whose shard accepts other writes. Returns whether the document is at fault. */
export function confirmSuspicion(job: Job, nowMs: number): boolean {
  const { sinceMs, failures } = job.suspicion ?? { sinceMs: nowMs, failures: 0 }
  job.suspicion = { sinceMs, failures: failures + 1 }
  return failures + 1 >= minSuspiciousFailures && nowMs - sinceMs >= minSuspicionMs
}

/** The suspicion that another record of the entity inherits: failures are counted anew, but `sinceMs` stays. */
const inheritedSuspicion = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion && { ...suspicion, failures: 0 }
