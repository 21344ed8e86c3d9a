import type { Revision } from '../../src/core/model/ids.ts'
import type { DocumentWrite } from '../../src/core/stores/documents.ts'
import type { BulkFailure, ItemOutcome } from './bulkFailure.ts'

/** The result of one record. */
export type Outcome =
  | { readonly kind: 'indexed' }
  /** Not newer than what is stored. */
  | { readonly kind: 'stale' }
  /** Its revision is stored with another content. */
  | { readonly kind: 'conflict' }
  /** Never storable. */
  | { readonly kind: 'rejected'; readonly reason: string }

/** The documents of one record, in the order of their partition. `done` is called once all of them have a result. */
export type RecordWrite = {
  /** The list document first. */
  readonly documents: readonly DocumentWrite[]
  readonly version: Revision
  /** Whether it is told when its revision is stored with another content; otherwise the record is stale then. */
  readonly isCompared: boolean
  /** Names the record to operators. */
  place(): string
  done(outcome: Outcome): void
}

/** A record that is pending or in flight. */
export type Job = RecordWrite & {
  /** Identifies the entity: at most one write per entity is in flight. */
  readonly entity: string
  /** Counts submitted records: of two with one revision the earlier one counts. */
  readonly order: number
  /** Its list document as submitted; `documents` are only those that still have to be stored. */
  readonly list: DocumentWrite
  /** Whether at least one of the record's documents was stored, and not only found stale. */
  readonly isStored: boolean
  /** Whether one of them was found stale because of a higher version. */
  readonly isOutdated: boolean
  /** Whether repeated names were removed from its rejected documents. */
  readonly isDeduplicated: boolean
  /** Whether its request failed with status 400 while requests of other records succeeded. */
  readonly isAtFault: boolean
  /** How often it has failed. */
  readonly attempts: number
  /** Why the last attempt failed, so that the next one needs a backoff. */
  readonly failure: BulkFailure | undefined
  readonly suspicion: Suspicion | undefined
  /** Older records of the entity: stale once this one is stored, candidates again if it is rejected. */
  readonly superseded: Superseded | undefined
}

/** A linked list: adding to it stays cheap when an entity changes ten thousand times during one request. */
type Superseded = { readonly job: Job; readonly next: Superseded | undefined }

/** What Elasticsearch holds of an entity. `digest`: of what its record says; undefined for a deletion, and where it is not known. */
export type Stored = { readonly version: number; readonly digest: string | undefined }

/** A record as it is submitted. */
export function newJob(write: RecordWrite, order: number): Job {
  const [list] = write.documents
  if (list === undefined) throw new Error('a record writes at least one document')
  return {
    ...{ documents: write.documents, version: write.version, isCompared: write.isCompared },
    place: () => write.place(),
    done: (outcome) => write.done(outcome),
    ...{ entity: `${list.kind}/${list.id}`, order, list },
    ...{ isStored: false, isOutdated: false, isDeduplicated: false, isAtFault: false },
    ...{ attempts: 0, failure: undefined, suspicion: undefined, superseded: undefined },
  }
}

/** A record after one attempt, whose documents had these results. */
export const withResults = (job: Job, results: readonly ItemOutcome[]): Job => ({
  ...job,
  isStored: job.isStored || results.some(({ kind }) => kind === 'written'),
  isOutdated: job.isOutdated || results.some((result) => result.kind === 'stale' && result.isOutdated),
})

/** The one of two records of an entity that counts, which supersedes the other one. */
export function winnerOf(one: Job, other: Job): Job {
  const isOneNewer = one.version === other.version ? one.order < other.order : one.version > other.version
  return isOneNewer ? supersede(one, other) : supersede(other, one)
}

/** What was held against the older record is held against its entity: else each new state would begin anew. */
const supersede = (newer: Job, older: Job): Job => ({
  ...newer,
  suspicion: newer.suspicion ?? ofAnotherState(older.suspicion),
  superseded: { job: older, next: newer.superseded },
})

/** Every record that `job` supersedes, directly or through others. */
function supersededBy(job: Job): Job[] {
  const found: Job[] = []
  const open = [job.superseded]
  while (open.length > 0) {
    const each = open.pop()
    if (each === undefined) continue
    found.push(each.job)
    open.push(each.next, each.job.superseded)
  }
  return found
}

/** The record once more, as a later assignment of its partition has read it. */
const isSameRecord = (one: Job, other: Job): boolean => one.version === other.version && one.place() === other.place()

/** Tells a record that it is rejected, as often as it was submitted. */
export function settleRejected(job: Job, reason: string): void {
  for (const each of [job, ...supersededBy(job).filter((older) => isSameRecord(older, job))])
    each.done({ kind: 'rejected', reason })
}

/** What counts once `job` is rejected: the one of the records it superseded that supersedes the others. */
export function successorOf(job: Job): Job | undefined {
  const suspicion = ofAnotherState(job.suspicion)
  const others = supersededBy(job).filter((each) => !isSameRecord(each, job))
  const candidates = others.map((each) => ({
    ...each,
    failure: undefined,
    suspicion,
    superseded: undefined,
  }))
  const [first, ...rest] = candidates
  return first && rest.reduce(winnerOf, first)
}

/** Whether what is stored under the record's revision has to be known, for itself or for one that it supersedes. */
export const needsStored = (job: Job): boolean =>
  !job.isStored &&
  !job.isOutdated &&
  job.list.digest !== undefined &&
  [job, ...supersededBy(job)].some(({ isCompared, version }) => isCompared && version === job.version)

/** Tells the record, and those that it supersedes, what has become of them. */
export function settle(job: Job, stored: Stored): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const older of supersededBy(job)) older.done(outcomeBy(stored, older))
}

function outcomeBy(stored: Stored, { isCompared, version, list: { digest } }: Job): Outcome {
  const isOther = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: isCompared && isOther && stored.version === version ? 'conflict' : 'stale' }
}

/** The bytes that it adds to a request. */
export const sizeOf = (job: Job): number => job.documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** A document must fail so often, */
const minFailures = 2
/** and for so long without success, before its record is given up. */
const minMs = 60_000

/** How often and since when Elasticsearch has failed at a document while its shard took writes. */
export type Suspicion = { readonly sinceMs: number; readonly failures: number }

/** What is held against a document after one more failure. While its shard takes no writes either, the shard is at fault. */
export const suspicionAfter = (
  before: Suspicion | undefined,
  doesShardTakeWrites: boolean,
  nowMs: number,
): Suspicion | undefined =>
  doesShardTakeWrites ? { sinceMs: before?.sinceMs ?? nowMs, failures: (before?.failures ?? 0) + 1 } : before

/** What is held against another state of an entity: it must fail by itself, too, but the time counts from the first state that did. */
export const ofAnotherState = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion && { ...suspicion, failures: 0 }

/** Whether the document is at fault, and not its shard. */
export const isConfirmed = (suspicion: Suspicion | undefined, nowMs: number): boolean =>
  suspicion !== undefined && suspicion.failures >= minFailures && nowMs - suspicion.sinceMs >= minMs
