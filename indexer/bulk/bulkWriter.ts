import { setTimeout as sleep } from 'node:timers/promises'
import type { Revision } from '../../src/core/model/ids.ts'
import { type DocumentWrite, withNamesOnce } from '../../src/core/stores/documents.ts'
import { backoffMs } from '../backoff.ts'
import { MalformedBulkResponse } from './bulkApi.ts'
import { type BulkFailure, classifyRequestError, type ItemOutcome, type RequestFailure } from './bulkFailure.ts'

/** The result of one record: stored, not newer than what is stored, or never storable. */
export type Outcome =
  | { readonly kind: 'indexed' }
  | { readonly kind: 'stale' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** The documents of one record. `done` is called once all of them have a result. */
type RecordWrite = {
  readonly documents: readonly DocumentWrite[]
  readonly version: Revision
  done(outcome: Outcome): void
}

type Job = RecordWrite & {
  /** Identifies the entity: at most one write per entity is in flight. */
  readonly entity: string
  /** Whether at least one of the record's documents was stored, and not only found stale. */
  readonly isStored: boolean
  /** Whether repeated names were removed from its rejected documents. */
  readonly isDeduplicated: boolean
  /** Whether its request failed with status 400 while requests of other records succeeded. */
  readonly isAtFault: boolean
  /** Whether the last attempt failed, so that the next one needs a backoff. */
  readonly needsBackoff: boolean
  /** Older records of the entity: stale once this one is stored, candidates again if it is rejected. */
  readonly superseded: Superseded | undefined
}

/** A linked list: adding to it stays cheap when an entity changes ten thousand times during one request. */
type Superseded = { readonly job: Job; readonly next: Superseded | undefined }

/** What the requests of one batch have shown so far. A batch that fails as a whole is sent again in parts. */
type BatchState = {
  /** Whether any request had results by document. */
  hasResults: boolean
  /** Records whose own request failed with status 400, which may have another cause. */
  readonly badRequests: { readonly job: Job; readonly reason: string }[]
}

type WriterOptions = {
  /** Sends one bulk request; outcomes in the order of the documents. */
  send(documents: readonly DocumentWrite[]): Promise<ItemOutcome[]>
  readonly maxBulkBytes: number
  readonly maxBulkDocuments: number
  readonly maxConcurrentRequests: number
  readonly random: () => number
  readonly signal: AbortSignal
  /** Called with what keeps documents from being stored, and with null once they are stored again. */
  onBlocked(failure: BulkFailure | null): void
  /** Called with a bug, after which the batch that met it is never finished. */
  onFatal(error: Error): void
}

/**
 * Decides what each bulk request holds, and what is sent again. Batches grow while requests are in flight. Only the newest pending record
 * of an entity is sent. What can succeed later is retried until it does, with full jitter. bulkApi.ts makes a request, bulkFailure.ts
 * classifies its results.
 */
export class BulkWriter {
  readonly #options: WriterOptions
  readonly #pending = new Map<string, Job>()
  readonly #inFlight = new Set<string>()
  #requests = 0
  #failures = 0
  #isScheduled = false

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Writes a record; `done` is called once. The caller bounds how much is in flight. */
  submit({ documents, version, done }: RecordWrite): void {
    const first = documents[0]
    if (first === undefined) throw new Error('a record writes at least one document')
    this.#enqueue({
      documents,
      version,
      done,
      entity: `${first.kind}/${first.id}`,
      isStored: false,
      isDeduplicated: false,
      isAtFault: false,
      needsBackoff: false,
      superseded: undefined,
    })
    this.#schedule()
  }

  #enqueue(job: Job): void {
    const waiting = this.#pending.get(job.entity)
    if (waiting === undefined) this.#pending.set(job.entity, job)
    else
      this.#pending.set(job.entity, waiting.version >= job.version ? supersede(waiting, job) : supersede(job, waiting))
  }

  /** Sends only after the caller's turn of the event loop, so that all records of one fetch can share a request. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#sendBatches()
    })
  }

  #sendBatches(): void {
    while (this.#requests < this.#options.maxConcurrentRequests && !this.#options.signal.aborted) {
      const jobs = this.#nextBatch()
      if (jobs.length === 0) return
      this.#requests++
      this.#sendBatch(jobs).catch((error: unknown) => {
        if (!this.#options.signal.aborted) this.#options.onFatal(error as Error)
      })
    }
  }

  #nextBatch(): Job[] {
    const jobs: Job[] = []
    let bytes = 0
    let documents = 0
    for (const [entity, job] of this.#pending) {
      if (this.#inFlight.has(entity)) continue
      const jobBytes = sizeOf(job)
      if (jobs.length > 0 && bytes + jobBytes > this.#options.maxBulkBytes) break
      if (documents + job.documents.length > this.#options.maxBulkDocuments) break
      this.#pending.delete(entity)
      this.#inFlight.add(entity)
      jobs.push(job)
      bytes += jobBytes
      documents += job.documents.length
    }
    return jobs
  }

  async #sendBatch(jobs: readonly Job[]): Promise<void> {
    const batch: BatchState = { hasResults: false, badRequests: [] }
    const again = await this.#attempt(jobs, batch)
    again.push(...this.#resolveBadRequests(batch))
    if (again.some((job) => job.needsBackoff)) {
      this.#failures++
      await sleep(backoffMs(this.#failures, this.#options.random), undefined, { signal: this.#options.signal })
    } else {
      this.#failures = 0
      this.#options.onBlocked(null)
    }
    for (const job of jobs) this.#inFlight.delete(job.entity)
    for (const job of again) this.#enqueue(job)
    this.#requests--
    this.#sendBatches()
  }

  /** Sends the jobs; returns those that must be sent again later. */
  async #attempt(jobs: readonly Job[], batch: BatchState): Promise<Job[]> {
    let outcomes: ItemOutcome[]
    try {
      outcomes = await this.#options.send(jobs.flatMap((job) => job.documents))
    } catch (error) {
      this.#options.signal.throwIfAborted()
      const failure = error instanceof MalformedBulkResponse ? retryOf(error) : classifyRequestError(error)
      return await this.#afterFailure(jobs, batch, failure, error)
    }
    batch.hasResults = true
    const tooLarge: Job[] = []
    let from = 0
    const again = jobs.flatMap((job) => {
      const results = outcomes.slice(from, from + job.documents.length)
      from += job.documents.length
      if (results.every(({ kind }) => kind !== 'split')) return this.#applyResults(job, results)
      tooLarge.push({ ...job, isStored: job.isStored || results.some(({ kind }) => kind === 'written') })
      return []
    })
    const reason = outcomes.find((outcome) => outcome.kind === 'split')?.reason
    if (reason === undefined) return again
    return [...again, ...(await this.#afterFailure(tooLarge, batch, { kind: 'split', reason }, undefined))]
  }

  async #afterFailure(
    jobs: readonly Job[],
    batch: BatchState,
    failure: RequestFailure,
    error: unknown,
  ): Promise<Job[]> {
    switch (failure.kind) {
      case 'fatal':
        throw error
      case 'retry':
      case 'pause':
        this.#options.onBlocked(failure)
        return jobs.map((job) => ({ ...job, needsBackoff: true }))
      case 'split':
      case 'bad-request': {
        const [only] = jobs
        if (jobs.length > 1 || only === undefined) return await this.#attemptHalves(jobs, batch)
        if (failure.kind === 'split' || only.isAtFault) return this.#reject(only, only.documents, failure.reason)
        batch.badRequests.push({ job: only, reason: failure.reason })
        return []
      }
    }
  }

  async #attemptHalves(jobs: readonly Job[], batch: BatchState): Promise<Job[]> {
    const middle = Math.ceil(jobs.length / 2)
    const first = await this.#attempt(jobs.slice(0, middle), batch)
    return [...first, ...(await this.#attempt(jobs.slice(middle), batch))]
  }

  /** A record is at fault only when other requests succeed; when none does, the cause lies between us and Elasticsearch. */
  #resolveBadRequests({ hasResults, badRequests }: BatchState): Job[] {
    return badRequests.flatMap(({ job, reason }) => {
      if (hasResults) return this.#reject({ ...job, isAtFault: true }, job.documents, reason)
      this.#options.onBlocked({ kind: 'pause', reason })
      return [{ ...job, needsBackoff: true }]
    })
  }

  /** Finishes a job by the results of its documents, or returns what must be sent again. */
  #applyResults(job: Job, outcomes: readonly ItemOutcome[]): Job[] {
    const isStored = job.isStored || outcomes.some((outcome) => outcome.kind === 'written')
    if (outcomes.every(isDone)) {
      job.done({ kind: isStored ? 'indexed' : 'stale' })
      for (const older of supersededBy(job)) older.done({ kind: 'stale' })
      return []
    }
    const waiting = job.documents.filter((_, at) => mayRetry(outcomes[at]))
    const rejected = job.documents.filter((_, at) => outcomes[at]?.kind === 'reject')
    const reason = outcomes.find((outcome) => outcome.kind === 'reject')?.reason
    if (reason !== undefined)
      return this.#reject({ ...job, isStored, documents: [...waiting, ...rejected] }, rejected, reason)
    const failure = outcomes.find((outcome) => outcome.kind === 'pause' || outcome.kind === 'retry')
    if (failure !== undefined) this.#options.onBlocked(failure)
    return [{ ...job, isStored, needsBackoff: true, documents: waiting }]
  }

  /** Retries rejected documents once without repeated names. After that the record is rejected, and older ones are candidates again. */
  #reject(job: Job, rejected: readonly DocumentWrite[], reason: string): Job[] {
    if (!job.isDeduplicated) {
      const documents = job.documents.map((document) =>
        rejected.includes(document) ? withNamesOnce(document) : document,
      )
      return [{ ...job, isDeduplicated: true, needsBackoff: false, documents }]
    }
    job.done({ kind: 'rejected', reason })
    const [next, ...rest] = supersededBy(job)
      .map((older) => ({ ...older, needsBackoff: false, superseded: undefined }))
      .sort((a, b) => b.version - a.version)
    return next === undefined ? [] : [rest.reduce(supersede, next)]
  }
}

const isDone = ({ kind }: ItemOutcome): boolean => kind === 'written' || kind === 'stale'

const mayRetry = (outcome: ItemOutcome | undefined): boolean => outcome?.kind === 'retry' || outcome?.kind === 'pause'

const supersede = (newer: Job, older: Job): Job => ({ ...newer, superseded: { job: older, next: newer.superseded } })

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

const sizeOf = (job: Job): number => job.documents.reduce((bytes, { source }) => bytes + source.length, 0)

const retryOf = (error: Error): BulkFailure => ({ kind: 'retry', reason: error.message })
