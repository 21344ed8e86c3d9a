import { type DocumentWrite, withNamesOnce } from '../../src/core/stores/documents.ts'
import { BlockedRecords } from './blockedRecords.ts'
import { MalformedBulkResponse } from './bulkApi.ts'
import {
  type BulkFailure,
  classifyRequestError,
  type ItemOutcome,
  isDone,
  isFailure,
  mayRetry,
  type RequestFailure,
} from './bulkFailure.ts'
import { type BatchResult, BulkScheduler, type SchedulerOptions } from './bulkScheduler.ts'
import {
  isConfirmed,
  type Job,
  needsStored,
  type RecordWrite,
  type Stored,
  settle,
  settleRejected,
  sizeOf,
  successorOf,
  suspicionAfter,
  withResults,
} from './job.ts'

/** What the requests of one batch have shown so far. A batch that fails as a whole is sent again in parts. */
type BatchState = {
  /** Whether any request had results by document. */
  hasResults: boolean
  /** Records whose own request failed with status 400, which may have another cause. */
  readonly badRequests: { readonly job: Job; readonly reason: string }[]
  /** Records whose revision is stored already; whether with the same content is not known. */
  readonly repeated: Job[]
}

/** Of so many shards, at most, a request asks whether they take writes. */
const maxProbes = 16

type WriterOptions = SchedulerOptions & {
  /** Sends one bulk request; outcomes in the order of the documents. */
  send(documents: readonly DocumentWrite[]): Promise<ItemOutcome[]>
  /** Reads what Elasticsearch holds of the documents of records, in their order. */
  readStored(records: readonly (readonly DocumentWrite[])[]): Promise<(Stored | undefined)[]>
  /** Whether the shard of each document takes writes now. */
  takesWrites(documents: readonly DocumentWrite[]): Promise<readonly boolean[]>
  /** Called with what keeps documents from being stored, and with null once nothing does. */
  onBlocked(failure: BulkFailure | null): void
}

/**
 * Stores records: sends their documents, and decides by each result what becomes of a record. Only the newest pending record of an entity
 * is sent. What can succeed later is retried until it does, with full jitter for each record. bulkScheduler.ts makes batches, bulkApi.ts
 * a request, bulkFailure.ts classifies its results.
 */
export class BulkWriter {
  readonly #options: WriterOptions
  readonly #scheduler: BulkScheduler
  readonly #blocked = new BlockedRecords()
  /** Whether most records of the last batch were stored already. */
  #isReadingAgain = false

  constructor(options: WriterOptions) {
    this.#options = options
    this.#scheduler = new BulkScheduler(options, (jobs) => this.#sendBatch(jobs))
  }

  /** Writes a record; `done` is called once. The caller bounds how much is in flight. */
  submit(write: RecordWrite): void {
    this.#scheduler.submit(write)
  }

  /** Why records cannot be stored at the moment, with the one that waits longest; undefined when all can. */
  blockedReason(): string | undefined {
    return this.#blocked.describe(this.#options.elapsedMs())
  }

  /** For how long the record that waits longest has not been stored (ms); 0 when none waits after a failure. */
  blockedMs(): number {
    return this.#blocked.longestMs(this.#options.elapsedMs())
  }

  async #sendBatch(jobs: readonly Job[]): Promise<BatchResult> {
    const batch: BatchState = { hasResults: false, badRequests: [], repeated: [] }
    const left = this.#isReadingAgain ? await this.#withoutStored(jobs) : jobs
    const again = left.length === 0 ? [] : await this.#attempt(left, batch)
    again.push(...this.#resolveBadRequests(batch))
    const { repeated: compared } = batch
    this.#isReadingAgain = jobs.length - left.length + compared.length > jobs.length / 2
    const hasResults = batch.hasResults || left.length === 0
    return { again, hasResults, compared, comparing: this.#compareRepeated(compared) }
  }

  /** Finishes those that are stored already, and returns the others. To ask costs less than to be told by a version conflict. */
  async #withoutStored(jobs: readonly Job[]): Promise<readonly Job[]> {
    const isAsked = ({ attempts, isDeduplicated }: Job): boolean => attempts === 0 && !isDeduplicated
    const asked = jobs.filter(isAsked)
    // What keeps Elasticsearch from answering, the write tells.
    const found = await this.#options.readStored(asked.map(({ documents }) => documents)).catch(() => [])
    const left = asked.filter((job, at) => {
      const stored = found[at]
      if (stored === undefined || stored.version < job.version) return true
      this.#finish(job, stored)
      return false
    })
    return [...left, ...jobs.filter((job) => !isAsked(job))]
  }

  /** Sends the jobs; returns those that must be sent again. */
  async #attempt(jobs: readonly Job[], batch: BatchState): Promise<Job[]> {
    const documents = jobs.flatMap((job) => job.documents)
    let outcomes: ItemOutcome[]
    try {
      outcomes = await this.#options.send(documents)
    } catch (error) {
      return await this.#afterFailure(jobs, batch, this.#classify(error), error)
    }
    batch.hasResults = true
    this.#adaptLimits(jobs, documents, outcomes)
    const writable = await this.#writableShards(documents, outcomes)
    const tooLarge: Job[] = []
    let from = 0
    const again = jobs.flatMap((job) => {
      const results = outcomes.slice(from, from + job.documents.length)
      from += job.documents.length
      const found = withResults(job, results)
      if (results.every(({ kind }) => kind !== 'split')) return this.#applyResults(found, results, writable, batch)
      tooLarge.push(found)
      return []
    })
    const reason = outcomes.find((outcome) => outcome.kind === 'split')?.reason
    if (reason === undefined) return again
    return [...again, ...(await this.#afterFailure(tooLarge, batch, { kind: 'split', reason }, undefined))]
  }

  #classify(error: unknown): RequestFailure {
    this.#options.signal.throwIfAborted()
    return error instanceof MalformedBulkResponse ? retryOf(error.message) : classifyRequestError(error)
  }

  /** Of the shards that failed at a document for no known reason, those that take writes. */
  async #writableShards(
    documents: readonly DocumentWrite[],
    outcomes: readonly ItemOutcome[],
  ): Promise<ReadonlySet<string>> {
    const suspects = documents.filter((_, at) => outcomes[at]?.kind === 'suspect')
    const asked = [...new Map(suspects.map((document) => [shardOf(document), document]))].slice(0, maxProbes)
    if (asked.length === 0) return new Set()
    // What keeps Elasticsearch from answering, the next write tells.
    const answers = await this.#options.takesWrites(asked.map(([, document]) => document)).catch(() => [])
    return new Set(asked.flatMap(([shard], at) => (answers[at] === true ? [shard] : [])))
  }

  #adaptLimits(jobs: readonly Job[], documents: readonly DocumentWrite[], outcomes: readonly ItemOutcome[]): void {
    if (outcomes.some(({ kind }) => kind === 'busy')) this.#scheduler.limits.shrink()
    else
      this.#scheduler.limits.grow(
        documents.length,
        jobs.reduce((bytes, job) => bytes + sizeOf(job), 0),
      )
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
      case 'busy':
        this.#scheduler.limits.shrink()
        return this.#fail(jobs, failure)
      case 'retry':
      case 'pause':
        return this.#fail(jobs, failure)
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
    return badRequests.flatMap(({ job, reason }) =>
      hasResults
        ? this.#reject({ ...job, isAtFault: true }, job.documents, reason)
        : this.#fail([job], { kind: 'pause', reason }),
    )
  }

  /** Finishes a job by the results of its documents, or returns what must be sent again. */
  #applyResults(job: Job, outcomes: readonly ItemOutcome[], writable: ReadonlySet<string>, batch: BatchState): Job[] {
    if (outcomes.every(isDone)) {
      if (needsStored(job)) batch.repeated.push(job)
      else this.#finish(job, { version: job.version, digest: job.isStored ? job.list.digest : undefined })
      return []
    }
    const waiting = job.documents.filter((_, at) => mayRetry(outcomes[at]))
    const rejected = job.documents.filter((_, at) => outcomes[at]?.kind === 'reject')
    const refusal = outcomes.find((outcome) => outcome.kind === 'reject')
    if (refusal !== undefined)
      return this.#reject({ ...job, documents: [...waiting, ...rejected] }, rejected, refusal.reason)
    const unfinished = { ...job, documents: waiting }
    const suspect = outcomes.find((outcome) => outcome.kind === 'suspect')
    if (suspect !== undefined) {
      const isDocument = job.documents.some((each, at) => outcomes[at] === suspect && writable.has(shardOf(each)))
      return this.#suspect(unfinished, isDocument, suspect.reason)
    }
    const failure = outcomes.find((outcome) => isFailure(outcome))
    return failure === undefined ? [] : this.#fail([unfinished], failure)
  }

  /** Gives a record up once it is certain that one of its documents is at fault. */
  #suspect(job: Job, doesShardTakeWrites: boolean, reason: string): Job[] {
    const nowMs = this.#options.elapsedMs()
    const suspicion = suspicionAfter(job.suspicion, doesShardTakeWrites, nowMs)
    if (isConfirmed(suspicion, nowMs)) return this.#reject({ ...job, suspicion }, job.documents, reason)
    return this.#fail([{ ...job, suspicion }], { kind: 'retry', reason })
  }

  /** Finds out whether records whose revision was there already say the same as what is stored. Returns those that must be sent again. */
  async #compareRepeated(jobs: readonly Job[]): Promise<Job[]> {
    if (jobs.length === 0) return []
    let stored: readonly (Stored | undefined)[]
    try {
      stored = await this.#options.readStored(jobs.map(({ list }) => [list]))
    } catch (error) {
      const failure = this.#classify(error)
      if (failure.kind === 'fatal') throw error
      return this.#fail(jobs, isFailure(failure) ? failure : retryOf(failure.reason))
    }
    const lagging = jobs.filter((job, at) => (stored[at]?.version ?? 0) < job.version)
    jobs.forEach((job, at) => {
      const known = stored[at]
      if (known !== undefined && known.version >= job.version) this.#finish(job, known)
    })
    return this.#fail(lagging, retryOf('a copy answers that lacks what another one has stored'))
  }

  /** Notes that the jobs cannot be stored now; returns them as they are to be sent again. */
  #fail(jobs: readonly Job[], failure: BulkFailure): Job[] {
    for (const job of jobs) this.#blocked.note(job, failure.reason, this.#options.elapsedMs())
    if (jobs.length > 0) this.#options.onBlocked(failure)
    return jobs.map((job) => ({ ...job, failure, attempts: job.attempts + 1 }))
  }

  #finish(job: Job, stored: Stored): void {
    this.#unblock(job)
    settle(job, stored)
  }

  #unblock(job: Job): void {
    if (this.#blocked.delete(job) && this.#blocked.size === 0) this.#options.onBlocked(null)
  }

  /** Retries rejected documents once without repeated names. After that the record is rejected, and older ones are candidates again. */
  #reject(job: Job, rejected: readonly DocumentWrite[], reason: string): Job[] {
    if (!job.isDeduplicated) {
      const documents = job.documents.map((document) =>
        rejected.includes(document) ? withNamesOnce(document) : document,
      )
      return [{ ...job, isDeduplicated: true, documents }]
    }
    this.#unblock(job)
    settleRejected(job, reason)
    const next = successorOf(job)
    return next === undefined ? [] : [next]
  }
}

/** Documents of one index and one team are in one shard. */
const shardOf = ({ kind, teamId }: DocumentWrite): string => `${kind}/${teamId}`

const retryOf = (reason: string): BulkFailure => ({ kind: 'retry', reason })
