import type { Revision } from '../../src/core/model/ids.ts'
import type { Documents, DocumentWrite } from '../convertRecord.ts'

/**
 * The outcome of a record. `stale`: its revision, or a newer one, was stored before. `conflict`: its revision was stored before with other content.
 * `rejected`: Elasticsearch does not accept it, and will not.
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
  /** The sequence number of submission. Of two records with the same revision, the one that was submitted first wins. */
  readonly order: number
  readonly list: DocumentWrite
  readonly version: Revision
  documents: Documents
  /** Its list document, if that was found stale; undefined otherwise. */
  staleList: DocumentWrite | undefined
  /** Whether at least one of its documents was stored, as opposed to found stale. */
  isStored: boolean
  /** Whether it was rejected before, and its documents are without repeated JSON names now. */
  isDeduplicated: boolean
  /** Whether each of its documents is sent in its own request, because one request for all was too large or met overload. */
  isSentSingly: boolean
  attempts: number
  suspicion: Suspicion | undefined
  /** Older records of the entity: stale once this one is stored. If this one is rejected, the newest of them is sent. */
  superseded: Job[]
}

/** The stored state of an entity. `digest`: of the record's content; undefined for a deletion, and where it is unknown. */
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

/** Returns the winner of two records of an entity: the one with the higher revision, or of the same one the first. It supersedes the other. */
export function winnerOf(one: Job, other: Job): Job {
  const isOneNewer = one.version === other.version ? one.order < other.order : one.version > other.version
  const [newer, older] = isOneNewer ? [one, other] : [other, one]
  // The shorter list is appended to the longer: an entity may change ten thousand times during one request.
  const isShorter = newer.superseded.length < older.superseded.length
  const [long, short] = isShorter ? [older.superseded, newer.superseded] : [newer.superseded, older.superseded]
  for (const job of [...short, older]) long.push(job)
  older.superseded = []
  newer.superseded = long
  // The suspicion against the older record passes to the newer one. Otherwise an entity that changes every minute would never be given up.
  newer.suspicion ??= ofAnotherState(older.suspicion)
  return newer
}

/** Reports that a record is rejected. Returns the newest of the records that it superseded, which supersedes the others; undefined without any. */
export function reportRejection(job: Job, reason: string): Job | undefined {
  job.done({ kind: 'rejected', reason })
  for (const older of job.superseded) older.suspicion = ofAnotherState(job.suspicion)
  const [first, ...rest] = job.superseded
  return first && rest.reduce(winnerOf, first)
}

/**
 * The list document to write again, over the same revision, because only the detail was new; undefined if that is not the case. Example:
 * 1. Elasticsearch stores the list document of `a@5`, but fails at its detail for a minute. The record, at offset 10, becomes a dead letter.
 * 2. Followers read past offset 10.
 * 3. The dead letter is replayed, at offset 30, and the detail is stored. The list document is stale, and has the position of offset 10. It must get that
 *    of offset 30, or followers never get `a@5`.
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

export function reportOutcomes(job: Job, stored: Stored): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const older of job.superseded) older.done(outcomeBy(stored, older))
}

function outcomeBy(stored: Stored, { reportsConflicts, version, list: { digest } }: Job): Outcome {
  const isOther = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: reportsConflicts && isOther && stored.version === version ? 'conflict' : 'stale' }
}

/** Names the shard of a document: those of one index and one team are in one shard. */
export const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

export const bytesOf = (documents: Documents): number =>
  documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** Elasticsearch has failed at a document while its shard took other writes: how often, and since when (ms). */
type Suspicion = { readonly sinceMs: number; readonly failures: number }

/** A record is rejected once its document has failed at least so often, and for at least this time. */
const minFailures = 2
const minMs = 60_000

/** Notes a failure of a document whose shard takes other writes. Returns whether the document counts as at fault now. */
export function confirmSuspicion(job: Job, nowMs: number): boolean {
  const { sinceMs, failures } = job.suspicion ?? { sinceMs: nowMs, failures: 0 }
  job.suspicion = { sinceMs, failures: failures + 1 }
  return failures + 1 >= minFailures && nowMs - sinceMs >= minMs
}

/** The suspicion against one state of an entity, passed to another state: that must fail, too, but the time counts from the first failure. */
const ofAnotherState = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion && { ...suspicion, failures: 0 }
