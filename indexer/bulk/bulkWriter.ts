import { type Documents, type DocumentWrite, keepApart, withNamesOnce } from '../convertRecord.ts'
import type { BulkCalls } from './bulkApi.ts'
import { type BulkFailure, classifyRequestError, type ItemOutcome, type RequestFailure } from './bulkFailure.ts'
import { BulkScheduler, type SchedulerOptions } from './bulkScheduler.ts'
import {
  bytesOf,
  confirmSuspicion,
  type Job,
  listToRepeat,
  needsStored,
  type RecordWrite,
  reportOutcomes,
  reportRejection,
  type Stored,
  shardOf,
} from './job.ts'

/** What the requests of one batch have shown so far. A batch that fails as a whole is sent again in parts. */
type Batch = {
  hasResults: boolean
  /** Records whose own request failed with status 400, which may have another cause. */
  readonly badRequests: { readonly job: Job; readonly reason: string }[]
  /** Records whose revision is stored already; whether with the same content is unknown. */
  readonly repeated: Job[]
  readonly failed: Job[]
}

type WriterOptions = SchedulerOptions &
  BulkCalls & {
    /** Time that never steps (ms). */
    readonly elapsedMs: () => number
    /** Called with the first failure that keeps a document from being stored, and with undefined once nothing does. */
    onBlocked(failure: BulkFailure | undefined): void
  }

/**
 * Stores records: sends their documents, and decides by each result what becomes of a record. What can succeed later is retried until it
 * does, with full jitter. bulkScheduler.ts makes batches, bulkApi.ts a request, bulkFailure.ts classifies its results.
 */
export class BulkWriter {
  readonly #options: WriterOptions
  readonly #scheduler: BulkScheduler
  /** The entities whose records have failed and are not stored yet; the one that failed first is the first. */
  readonly #blocked = new Map<string, { readonly name: string; readonly sinceMs: number; readonly reason: string }>()

  constructor(options: WriterOptions) {
    this.#options = options
    this.#scheduler = new BulkScheduler(options, (jobs) => this.#writeBatch(jobs))
  }

  /** Writes a record. The caller bounds how much is in flight. */
  submit(write: RecordWrite): void {
    this.#scheduler.submit(write)
  }

  /** Names the record that failed first, for how long it has waited, and why; undefined while none waits after a failure. */
  blockedReason(): string | undefined {
    const [first] = this.#blocked.values()
    if (first === undefined) return undefined
    const others = this.#blocked.size === 1 ? '' : ` and ${this.#blocked.size - 1} others`
    return `no progress for ${Math.floor(this.blockedMs() / 1_000)} s at ${first.name}${others}: ${first.reason}`
  }

  /** Milliseconds since the record that has waited longest failed first; 0 while none waits after a failure. */
  blockedMs(): number {
    const [first] = this.#blocked.values()
    return first === undefined ? 0 : this.#options.elapsedMs() - first.sinceMs
  }

  async #writeBatch(jobs: readonly Job[]): Promise<Batch> {
    const batch: Batch = { hasResults: false, badRequests: [], repeated: [], failed: [] }
    await this.#attempt(jobs, batch)
    // A record is at fault only when other requests succeed; when none does, the cause lies between us and Elasticsearch.
    for (const { job, reason } of batch.badRequests)
      if (batch.hasResults) this.#reject(job, job.documents, reason)
      else this.#fail([job], batch, { kind: 'pause', reason })
    // The next request is sent meanwhile.
    if (batch.repeated.length > 0) this.#scheduler.run(this.#compareRepeated(batch.repeated))
    return batch
  }

  async #attempt(jobs: readonly Job[], batch: Batch): Promise<void> {
    const documents = jobs.flatMap((job) => job.documents)
    let outcomes: ItemOutcome[]
    try {
      outcomes = await this.#send(jobs, documents)
    } catch (error) {
      return await this.#halveOrFail(jobs, batch, this.#classify(error))
    }
    batch.hasResults = true
    this.#scheduler.noteShards(documents, outcomes)
    if (outcomes.some(({ kind }) => kind === 'busy')) this.#askForLess(jobs)
    else this.#scheduler.widenBounds(documents.length, bytesOf(documents))
    const writable = await this.#writableShards(documents, outcomes)
    const tooLarge: Job[] = []
    let from = 0
    for (const job of jobs) {
      const results = outcomes.slice(from, from + job.documents.length)
      from += results.length
      if (results.some(({ kind }) => kind === 'written')) job.isStored = true
      if (results.some(({ kind }) => kind === 'split')) tooLarge.push(job)
      else this.#applyResults(job, results, writable, batch)
    }
    const split = outcomes.find((outcome) => outcome.kind === 'split')
    if (split !== undefined) await this.#halveOrFail(tooLarge, batch, split)
  }

  /** Sends documents together, or those of a lone record singly: the largest first, so that none is stored if that one cannot be. */
  async #send(jobs: readonly Job[], documents: Documents): Promise<ItemOutcome[]> {
    const [only, ...others] = jobs
    if (only === undefined || others.length > 0 || !only.isSentSingly) return await this.#options.send(documents)
    const outcomes = new Map<DocumentWrite, ItemOutcome>()
    let missing: ItemOutcome = notSent
    for (const document of documents.toSorted((a, b) => b.source.length - a.source.length)) {
      const [outcome = notSent] = await this.#options.send([document])
      if (outcome.kind === 'split') return documents.map(() => outcome)
      if (outcome.kind === 'written') only.isStored = true
      outcomes.set(document, outcome)
      if (isDone(outcome)) continue
      if (isFailure(outcome)) missing = outcome
      break
    }
    return documents.map((each) => outcomes.get(each) ?? missing)
  }

  /** After a sign of overload: smaller requests, also of a record that was alone in its request. */
  #askForLess(jobs: readonly Job[]): void {
    this.#scheduler.halveBounds()
    const [only] = jobs
    if (jobs.length === 1 && only !== undefined) only.isSentSingly = true
  }

  /** Classifies the failure of a request; throws an error that is a bug. */
  #classify(error: unknown): RequestFailure {
    this.#options.signal.throwIfAborted()
    const failure = classifyRequestError(error)
    if (failure === undefined) throw error
    return failure
  }

  /** Of the shards that failed at a document for no known reason, those that take writes. */
  async #writableShards(documents: Documents, outcomes: readonly ItemOutcome[]): Promise<ReadonlySet<string>> {
    const suspects = documents.filter((_, at) => outcomes[at]?.kind === 'suspect')
    const asked = [...new Map(suspects.map((document) => [shardOf(document), document]))]
    if (asked.length === 0) return new Set()
    // What keeps Elasticsearch from answering shows in the next write.
    const answers = await this.#options.takesWrites(asked.map(([, document]) => document)).catch(() => [])
    return new Set(asked.flatMap(([shard], at) => (answers[at] === true ? [shard] : [])))
  }

  async #halveOrFail(jobs: readonly Job[], batch: Batch, failure: RequestFailure): Promise<void> {
    if (failure.kind === 'busy') this.#askForLess(jobs)
    const [only] = jobs
    if (isFailure(failure)) this.#fail(jobs, batch, failure)
    else if (jobs.length > 1 || only === undefined) {
      const middle = Math.ceil(jobs.length / 2)
      await this.#attempt(jobs.slice(0, middle), batch)
      await this.#attempt(jobs.slice(middle), batch)
    } else if (failure.kind === 'split' && !only.isSentSingly) {
      only.isSentSingly = true
      await this.#attempt(jobs, batch)
    } else if (failure.kind === 'split' || only.isDeduplicated) this.#reject(only, only.documents, failure.reason)
    else batch.badRequests.push({ job: only, reason: failure.reason })
  }

  /** Decides what becomes of a record by the results of its documents. */
  #applyResults(job: Job, outcomes: readonly ItemOutcome[], writable: ReadonlySet<string>, batch: Batch): void {
    job.staleList ??= job.documents.find(({ kind }, at) => kind === job.list.kind && outcomes[at]?.kind === 'stale')
    if (outcomes.every(isDone)) {
      this.#endWrite(job, batch)
      return
    }
    const reject = outcomes.find((each) => each.kind === 'reject')
    const rejected = job.documents.filter((_, at) => outcomes[at]?.kind === 'reject')
    const suspect = outcomes.find((each) => each.kind === 'suspect')
    const isDocument = job.documents.some((each, at) => outcomes[at] === suspect && writable.has(shardOf(each)))
    const failure = outcomes.find((each) => isFailure(each))
    job.documents = job.documents.filter((_, at) => !isDone(outcomes[at]))
    if (reject !== undefined) this.#reject(job, rejected, reject.reason)
    else if (suspect !== undefined) {
      const isConfirmed = isDocument && confirmSuspicion(job, this.#options.elapsedMs())
      if (isConfirmed) this.#reject(job, job.documents, suspect.reason)
      else this.#fail([job], batch, { kind: 'retry', reason: suspect.reason })
    } else if (failure !== undefined) this.#fail([job], batch, failure)
  }

  /** Decides what is left to do for a record of which every document has been stored, or found stale. */
  #endWrite(job: Job, batch: Batch): void {
    const repeated = listToRepeat(job)
    if (repeated !== undefined) {
      job.staleList = repeated
      job.documents = [repeated]
      this.#scheduler.putBack(job)
    } else if (needsStored(job)) batch.repeated.push(job)
    else this.#finish(job, { version: job.version, digest: job.isStored ? job.list.digest : undefined })
  }

  /** Finds out whether records whose revision was there already say the same as what is stored. */
  async #compareRepeated(jobs: readonly Job[]): Promise<void> {
    let stored: readonly (Stored | undefined)[] = []
    let failure: BulkFailure = { kind: 'retry', reason: 'a copy answers that lacks what another one has stored' }
    try {
      stored = await this.#options.readStored(jobs.map(({ list }) => list))
    } catch (error) {
      const found = this.#classify(error)
      failure = isFailure(found) ? found : { kind: 'retry', reason: found.reason }
    }
    const batch: Pick<Batch, 'failed'> = { failed: [] }
    jobs.forEach((job, at) => {
      const found = stored[at]
      if (found !== undefined && found.version >= job.version) this.#finish(job, found)
      else this.#fail([job], batch, failure)
    })
    await this.#scheduler.retryLater(batch.failed)
  }

  #finish(job: Job, stored: Stored): void {
    this.#release(job)
    reportOutcomes(job, stored)
  }

  #release(job: Job): void {
    this.#scheduler.finish(job)
    if (this.#blocked.delete(job.entity) && this.#blocked.size === 0) this.#options.onBlocked(undefined)
  }

  /** Notes that the jobs cannot be stored now. */
  #fail(jobs: readonly Job[], { failed }: Pick<Batch, 'failed'>, failure: BulkFailure): void {
    const wasBlocked = this.#blocked.size > 0
    for (const job of jobs) {
      const known = this.#blocked.get(job.entity) ?? { name: job.name(), sinceMs: this.#options.elapsedMs() }
      this.#blocked.set(job.entity, { ...known, reason: failure.reason })
      job.documents.forEach(keepApart)
      job.attempts++
      failed.push(job)
    }
    if (!wasBlocked && jobs.length > 0) this.#options.onBlocked(failure)
  }

  /** Retries rejected documents once without repeated names. After that the record is rejected, and older ones are candidates again. */
  #reject(job: Job, rejected: Documents, reason: string): void {
    if (!job.isDeduplicated) {
      job.isDeduplicated = true
      job.documents = job.documents.map((each) => (rejected.includes(each) ? withNamesOnce(each) : each))
      this.#scheduler.putBack(job)
      return
    }
    this.#release(job)
    const next = reportRejection(job, reason)
    if (next !== undefined) this.#scheduler.putBack(next)
  }
}

const notSent: ItemOutcome = { kind: 'retry', reason: 'has no outcome' }

/** Whether the document needs no further attempt: what is stored is it, or at least as new. */
const isDone = (outcome: ItemOutcome | undefined): boolean => outcome?.kind === 'written' || outcome?.kind === 'stale'

/** Whether the same document, or the same request, may succeed later. */
const isFailure = (found: ItemOutcome | RequestFailure): found is BulkFailure =>
  found.kind === 'retry' || found.kind === 'away' || found.kind === 'busy' || found.kind === 'pause'
