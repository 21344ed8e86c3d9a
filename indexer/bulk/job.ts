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

/** A record to write; the records of a partition are submitted in order of offsets. */
export type RecordWrite = {
  readonly documents: Documents
  /** Whether a stored revision with other content is a `conflict`, rather than `stale`. */
  readonly reportsConflicts: boolean
  name(): string
  done(outcome: Outcome): void
}

/** The failures at a document while its shard accepted other writes, the first one at `sinceMs` (`elapsedMs`). */
type Suspicion = { readonly sinceMs: number; readonly failures: number }

export type Job = Omit<RecordWrite, 'documents'> & {
  readonly entity: string
  /** The number of records submitted before this one. */
  readonly order: number
  readonly list: DocumentWrite
  readonly version: Revision
  documents: Documents
  /** Set once Elasticsearch has found it stale. */
  staleList: DocumentWrite | undefined
  isStored: boolean
  /** Whether its rejected documents are now sent without repeated JSON names. */
  hasNamesOnce: boolean
  /** Whether each document has its own request, because one for all was too large or met overload. */
  isSentSingly: boolean
  attempts: number
  suspicion: Suspicion | undefined
  /** Older records of the entity. They are not sent: once this record is stored, they are stale. If it is rejected, the newest of them is sent. */
  superseded: Job[]
}

/** What is stored of an entity. `digest`: undefined for a tombstone, and if the document was not read. */
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

/** Returns the newer of two records of an entity, which supersedes the other. Of equal revisions, the record submitted earlier wins. */
export function supersede(one: Job, other: Job): Job {
  const oneWins = one.version === other.version ? one.order < other.order : one.version > other.version
  const winner = oneWins ? one : other
  const loser = oneWins ? other : one
  // An entity may change ten thousand times during one request, so little is copied.
  const isWinnersShorter = winner.superseded.length < loser.superseded.length
  const longer = isWinnersShorter ? loser.superseded : winner.superseded
  const shorter = isWinnersShorter ? winner.superseded : loser.superseded
  for (const job of [...shorter, loser]) longer.push(job)
  loser.superseded = []
  winner.superseded = longer
  // Otherwise an entity that changes every minute would never be rejected.
  winner.suspicion ??= inheritedSuspicion(loser.suspicion)
  return winner
}

/** Returns the newest of the superseded records, which supersedes the others. */
export function reportRejection(job: Job, reason: string): Job | undefined {
  job.done({ kind: 'rejected', reason })
  for (const superseded of job.superseded) superseded.suspicion = inheritedSuspicion(job.suspicion)
  const [first, ...others] = job.superseded
  return first === undefined ? undefined : others.reduce(supersede, first)
}

/**
 * The list document, to be written again over the same revision, if it was stale, but the detail document was stored:
 * 1. Elasticsearch stores the list document of a record at offset 10, but fails at the detail document. The record becomes a dead letter.
 * 2. Followers with `view=full` read past offset 10 without the detail.
 * 3. An operator replays the dead letter, at offset 30. Now the list document is stale.
 * 4. It is written again, with the position of offset 30. So followers read the entity once more, with its detail.
 */
export const listToRepeat = ({ staleList, isStored }: Job): DocumentWrite | undefined =>
  isStored && staleList !== undefined && !staleList.replacesSameVersion
    ? { ...staleList, replacesSameVersion: true }
    : undefined

/** Whether the stored content decides between `stale` and `conflict`. Deletions have no content. */
export const mustCompare = (job: Job): boolean =>
  !job.isStored &&
  job.list.digest !== undefined &&
  [job, ...job.superseded].some(({ reportsConflicts, version }) => reportsConflicts && version === job.version)

/** `stored`: what Elasticsearch has after the write. */
export function reportOutcomes(job: Job, stored: StoredState): void {
  job.done(job.isStored ? { kind: 'indexed' } : outcomeBy(stored, job))
  for (const superseded of job.superseded) superseded.done(outcomeBy(stored, superseded))
}

function outcomeBy(stored: StoredState, { reportsConflicts, version, list: { digest } }: Job): Outcome {
  const hasOtherContent = stored.digest !== undefined && digest !== undefined && stored.digest !== digest
  return { kind: reportsConflicts && hasOtherContent && stored.version === version ? 'conflict' : 'stale' }
}

/** All documents of a team in one index are in the same shard. */
export const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

export const bytesOf = (documents: Documents): number =>
  documents.reduce((bytes, { source }) => bytes + source.length, 0)

/** A document counts as at fault after so many failures, the first of them so long (ms) ago. */
const minSuspiciousFailures = 2
const minSuspicionMs = 60_000

/** Returns whether the document now counts as at fault. */
export function confirmSuspicion(job: Job, nowMs: number): boolean {
  const { sinceMs, failures } = job.suspicion ?? { sinceMs: nowMs, failures: 0 }
  job.suspicion = { sinceMs, failures: failures + 1 }
  return job.suspicion.failures >= minSuspiciousFailures && nowMs - sinceMs >= minSuspicionMs
}

const inheritedSuspicion = (suspicion: Suspicion | undefined): Suspicion | undefined =>
  suspicion === undefined ? undefined : { ...suspicion, failures: 0 }

export const onlyJobOf = (jobs: readonly Job[]): Job | undefined => (jobs.length === 1 ? jobs[0] : undefined)

export type Batch = {
  /** Whether any request had results by document. If not, Elasticsearch is away or refuses everything. */
  hasResults: boolean
  /** Records refused alone with status 400, for the first time. See `BatchWriter.write`. */
  readonly badRequests: { readonly job: Job; readonly reason: string }[]
  readonly repeated: Job[]
  readonly failed: Job[]
}
