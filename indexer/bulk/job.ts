import type { Revision } from '../../src/core/model/ids.ts'
import type { Documents, DocumentWrite } from '../convertRecord.ts'

/** `stale`: not newer than what is stored. `conflict`: its revision is stored with another content. `rejected`: never storable. */
export type Outcome =
  | { readonly kind: 'indexed' | 'stale' | 'conflict' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** The documents of one record, in the order of their partition. */
export type RecordWrite = {
  /** The list document first. */
  readonly documents: Documents
  /** Whether the outcome is `conflict` when the revision is stored with another content; otherwise it is `stale` then. */
  readonly isCompared: boolean
  name(): string
  /** Called once, when all documents have a result. */
  done(outcome: Outcome): void
}

/** A record that waits or is in flight. */
export type Job = Omit<RecordWrite, 'documents'> & {
  /** At most one write per entity is in flight. */
  readonly entity: string
  /** Counts submitted records: of two with one revision the earlier one counts. */
  readonly order: number
  readonly list: DocumentWrite
  readonly version: Revision
  /** What still has to be stored. */
  documents: Documents
  /** Its list document, if that was found stale. */
  staleList: DocumentWrite | undefined
  /** Whether at least one of the record's documents was stored, and not only found stale. */
  isStored: boolean
  /** Whether it was rejected once, and has been sent again without repeated names. */
  isDeduplicated: boolean
  /** Whether its documents are sent one at a time: together they were too large, or there was no room for both. */
  isSentSingly: boolean
  attempts: number
  suspicion: Suspicion | undefined
  /** Older records of the entity: stale once this one is stored, candidates again if it is rejected. */
  superseded: Job[]
}

/** What Elasticsearch holds of an entity. `digest`: of the record's content; undefined for a deletion, and where unknown. */
export type Stored = { readonly version: number; readonly digest: string | undefined }

export function newJob(write: RecordWrite, order: number): Job {
  const [list] = write.documents
  if (list === undefined) throw new Error('a record writes at least one document')
  return {
    ...write,
    ...{ entity: `${list.kind}/${list.id}`, order, list, version: list.version, superseded: [] },
    staleList: undefined,
    ...{ isStored: false, isDeduplicated: false, isSentSingly: false, attempts: 0, suspicion: undefined },
  }
}

/** The one of two records of an entity that counts, which supersedes the other one. */
export function winnerOf(one: Job, other: Job): Job {
  const isOneNewer = one.version === other.version ? one.order < other.order : one.version > other.version
  const [newer, older] = isOneNewer ? [one, other] : [other, one]
  // The longer list stays as it is: an entity may change ten thousand times during one request.
  const isShorter = newer.superseded.length < older.superseded.length
  const [long, short] = isShorter ? [older.superseded, newer.superseded] : [newer.superseded, older.superseded]
  for (const each of [...short, older]) long.push(each)
  older.superseded = []
  newer.superseded = long
  // What was held against the older record is held against its entity: else each new state would begin anew.
  newer.suspicion ??= ofAnotherState(older.suspicion)
  return newer
}

/** Tells a record that it is rejected. Returns what counts now: the one of the records it superseded that supersedes the others. */
export function reportRejection(job: Job, reason: string): Job | undefined {
  job.done({ kind: 'rejected', reason })
  for (const each of job.superseded) each.suspicion = ofAnotherState(job.suspicion)
  const [first, ...rest] = job.superseded
  return first && rest.reduce(winnerOf, first)
}

/**
 * The list document to write once more, over one of the same revision, when the detail was stored and the list document was found stale. Example:
 * Elasticsearch fails at the detail of `a@5` for a minute, and has its list document: the record at offset 10 becomes a dead letter. It is replayed at
 * offset 30. Followers have passed offset 10, so the list document must get the position of the record that has completed the entity.
 */
export const listToRepeat = ({ staleList, isStored }: Job): DocumentWrite | undefined =>
  isStored && staleList !== undefined && !staleList.replacesSameVersion
    ? { ...staleList, replacesSameVersion: true }
    : undefined

/** Whether the stored content under the record's revision has to be known, for itself or for one that it supersedes. */
export const needsStored = (job: Job): boolean =>
  !job.isStored &&
  job.list.digest !== undefined &&
  [job, ...job.superseded].some(({ isCompared, version }) => isCompared && version === job.version)

/** Tells the record, and those that it supersedes, their outcomes. */
export function reportOutcomes(job: Job, stored: Stored): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const older of job.superseded) older.done(outcomeBy(stored, older))
}

function outcomeBy(stored: Stored, { isCompared, version, list: { digest } }: Job): Outcome {
  const isOther = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: isCompared && isOther && stored.version === version ? 'conflict' : 'stale' }
}

/** Documents of one index and one team are in one shard. */
export const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

export const bytesOf = (documents: Documents): number =>
  documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** How often and since when (ms) Elasticsearch has failed at a document while its shard took writes. */
type Suspicion = { readonly sinceMs: number; readonly failures: number }

/** A record is given up once its document has failed so often, and for so long. */
const minFailures = 2
const minMs = 60_000

/** Notes one more failure of a document whose shard takes writes. Returns whether the document is at fault. */
export function confirmSuspicion(job: Job, nowMs: number): boolean {
  const { sinceMs, failures } = job.suspicion ?? { sinceMs: nowMs, failures: 0 }
  job.suspicion = { sinceMs, failures: failures + 1 }
  return failures + 1 >= minFailures && nowMs - sinceMs >= minMs
}

/** What is held against another state of an entity: it must fail by itself, too, but the time counts from the first state that did. */
const ofAnotherState = (suspicion: Suspicion | undefined) => suspicion && { ...suspicion, failures: 0 }
