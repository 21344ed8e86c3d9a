import { type CheckOutcome, failed, passed } from '../../src/core/monitoring/health.ts'
import { copySource, type Documents, type DocumentWrite, withNamesOnce } from '../convertRecord.ts'
import type { BulkCalls } from './bulkApi.ts'
import { type BulkFailure, classifyRequestError, type ItemOutcome, type RequestFailure } from './bulkFailure.ts'
import type { BulkQueue } from './bulkQueue.ts'
import {
  bytesOf,
  confirmSuspicion,
  type Job,
  listToRepeat,
  mustCompare,
  reportOutcomes,
  reportRejection,
  type StoredState,
  shardOf,
} from './job.ts'

type Batch = {
  hasResults: boolean
  /** Records that were alone in a request with status 400, and were not rejected before. See `write`. */
  readonly badRequests: { readonly job: Job; readonly reason: string }[]
  /** Records whose revision was stored before. A comparison shows whether the stored content is theirs. */
  readonly repeated: Job[]
  readonly failed: Job[]
}

type BatchResult = {
  /** Whether at least one request of the batch had results by document. If not, Elasticsearch is away or refuses everything. */
  readonly hasResults: boolean
  readonly failed: readonly Job[]
  /** Compares the `repeated` records while the next batch is sent. Resolves with the jobs that could not be compared. */
  readonly comparison?: Promise<readonly Job[]> | undefined
}

export type BatchWriterOptions = BulkCalls & {
  readonly signal: AbortSignal
  /** A monotonic clock (ms). */
  readonly elapsedMs: () => number
  /** Called when writing becomes blocked, with the failure of the first record that waits; with undefined when no record waits any more. */
  onBlocked(failure: BulkFailure | undefined): void
}

/** The record that has waited longest after a failure, for how long (ms), and its last error. */
export type BlockedRecord = { readonly name: string; readonly reason: string; readonly forMs: number }

/**
 * Sends the documents of a batch (`bulkApi.ts`). By its results (`bulkFailure.ts`), each record is finished, rejected, put back into the queue at once, or
 * returned to be sent after a backoff.
 */
export class BatchWriter {
  readonly #options: BatchWriterOptions
  readonly #queue: BulkQueue
  /** Entity → the failure of its record, until this record is finished or rejected; in the order of the first failures. */
  readonly #blocked = new Map<string, { readonly name: string; readonly sinceMs: number; readonly reason: string }>()

  constructor(options: BatchWriterOptions, queue: BulkQueue) {
    this.#options = options
    this.#queue = queue
  }

  health(): CheckOutcome {
    const blocked = this.blocked()
    if (blocked === undefined) return passed
    const others = this.#blocked.size === 1 ? '' : ` and ${this.#blocked.size - 1} others`
    const seconds = Math.floor(blocked.forMs / 1_000)
    return failed(`no progress for ${seconds} s at ${blocked.name}${others}: ${blocked.reason}`)
  }

  blocked(): BlockedRecord | undefined {
    const [longest] = this.#blocked.values()
    if (longest === undefined) return undefined
    return { name: longest.name, reason: longest.reason, forMs: this.#options.elapsedMs() - longest.sinceMs }
  }

  /** Rejects only because of a bug, and once the writer is stopped. */
  async write(jobs: readonly Job[]): Promise<BatchResult> {
    const batch: Batch = { hasResults: false, badRequests: [], repeated: [], failed: [] }
    await this.#attempt(jobs, batch)
    // Status 400. If another request of the batch had results, Elasticsearch works: this record is at fault. If none had, a proxy may refuse everything: the record
    // waits.
    for (const { job, reason } of batch.badRequests)
      if (batch.hasResults) this.#reject(job, job.documents, reason)
      else this.#fail([job], batch, { kind: 'pause', reason })
    const comparison = batch.repeated.length > 0 ? this.#compareRepeated(batch.repeated) : undefined
    return { hasResults: batch.hasResults, failed: batch.failed, comparison }
  }

  /** Sends jobs in one request, or in halves if smaller requests may succeed, and applies the results. */
  async #attempt(jobs: readonly Job[], batch: Batch): Promise<void> {
    const documents = jobs.flatMap((job) => job.documents)
    let outcomes: ItemOutcome[]
    try {
      outcomes = await this.#send(jobs, documents)
    } catch (error) {
      return await this.#halveOrFail(jobs, batch, this.#classify(error))
    }
    batch.hasResults = true
    this.#queue.updateLanes(documents, outcomes)
    if (outcomes.some(({ kind }) => kind === 'busy')) this.#reduceLoad(jobs)
    else this.#queue.widenBounds(documents.length, bytesOf(documents))
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

  /**
   * Sends documents in one request; those of a record with `isSentSingly` each alone, the largest first. If the largest is too large, no document was stored,
   * and all get its outcome, so that `#reject` gets the whole record.
   */
  async #send(jobs: readonly Job[], documents: Documents): Promise<ItemOutcome[]> {
    const [only, ...others] = jobs
    if (only === undefined || others.length > 0 || !only.isSentSingly) return await this.#options.send(documents)
    const outcomes = new Map<DocumentWrite, ItemOutcome>()
    // A document after a failed one is not sent. It gets that failure, or else `notSent`.
    let outcomeOfUnsent = notSent
    for (const document of documents.toSorted((a, b) => b.source.length - a.source.length)) {
      const [outcome = notSent] = await this.#options.send([document])
      if (outcome.kind === 'split') return documents.map(() => outcome)
      if (outcome.kind === 'written') only.isStored = true
      outcomes.set(document, outcome)
      if (isDone(outcome)) continue
      if (isFailure(outcome)) outcomeOfUnsent = outcome
      break
    }
    return documents.map((document) => outcomes.get(document) ?? outcomeOfUnsent)
  }

  #reduceLoad(jobs: readonly Job[]): void {
    this.#queue.halveBounds()
    const [only] = jobs
    if (jobs.length === 1 && only !== undefined) only.isSentSingly = true
  }

  #classify(error: unknown): RequestFailure {
    this.#options.signal.throwIfAborted()
    const failure = classifyRequestError(error)
    if (failure === undefined) throw error
    return failure
  }

  /** Returns the shards with a `suspect` document that accept another write now: in these, the document may be at fault. */
  async #writableShards(documents: Documents, outcomes: readonly ItemOutcome[]): Promise<ReadonlySet<string>> {
    const suspects = documents.filter((_, at) => outcomes[at]?.kind === 'suspect')
    const shards = [...new Map(suspects.map((document) => [shardOf(document), document]))]
    if (shards.length === 0) return new Set()
    // If this query fails, no document counts as at fault.
    const answers = await this.#options.acceptsWrites(shards.map(([, document]) => document)).catch(() => [])
    return new Set(shards.flatMap(([shard], at) => (answers[at] === true ? [shard] : [])))
  }

  /** Retries the jobs later, or halves the request at once, until the record at fault is alone in a request. */
  async #halveOrFail(jobs: readonly Job[], batch: Batch, failure: RequestFailure): Promise<void> {
    if (failure.kind === 'busy') this.#reduceLoad(jobs)
    const [only] = jobs
    if (isFailure(failure)) this.#fail(jobs, batch, failure)
    else if (jobs.length > 1 || only === undefined) {
      const middle = Math.ceil(jobs.length / 2)
      await this.#attempt(jobs.slice(0, middle), batch)
      await this.#attempt(jobs.slice(middle), batch)
    } else if (failure.kind === 'split' && !only.isSentSingly) {
      only.isSentSingly = true
      await this.#attempt(jobs, batch)
      // A record with `hasNamesOnce` was rejected once before, while Elasticsearch worked.
    } else if (failure.kind === 'split' || only.hasNamesOnce) this.#reject(only, only.documents, failure.reason)
    else batch.badRequests.push({ job: only, reason: failure.reason })
  }

  /** Of different outcomes of one record's documents, a rejection decides before a suspicion, and a suspicion before a failure that may pass. */
  #applyResults(job: Job, outcomes: readonly ItemOutcome[], writable: ReadonlySet<string>, batch: Batch): void {
    job.staleList ??= job.documents.find(({ kind }, at) => kind === job.list.kind && outcomes[at]?.kind === 'stale')
    if (outcomes.every(isDone)) {
      this.#endWrite(job, batch)
      return
    }
    const reject = outcomes.find((outcome) => outcome.kind === 'reject')
    const rejected = job.documents.filter((_, at) => outcomes[at]?.kind === 'reject')
    const suspect = outcomes.find((outcome) => outcome.kind === 'suspect')
    const isAtFault = job.documents.some((document, at) => outcomes[at] === suspect && writable.has(shardOf(document)))
    const failure = outcomes.find((outcome) => isFailure(outcome))
    job.documents = job.documents.filter((_, at) => !isDone(outcomes[at]))
    if (reject !== undefined) this.#reject(job, rejected, reject.reason)
    else if (suspect !== undefined) {
      const isConfirmed = isAtFault && confirmSuspicion(job, this.#options.elapsedMs())
      if (isConfirmed) this.#reject(job, job.documents, suspect.reason)
      else this.#fail([job], batch, { kind: 'retry', reason: suspect.reason })
    } else if (failure !== undefined) this.#fail([job], batch, failure)
  }

  #endWrite(job: Job, batch: Batch): void {
    const repeated = listToRepeat(job)
    if (repeated !== undefined) {
      job.staleList = repeated
      job.documents = [repeated]
      this.#queue.putBack(job)
    } else if (mustCompare(job)) batch.repeated.push(job)
    else this.#finish(job, { version: job.version, digest: job.isStored ? job.list.digest : undefined })
  }

  /**
   * Compares repeated revisions with the stored documents, and finishes their records. Resolves with the jobs that could not be compared: Elasticsearch did not
   * answer, or the copy of the shard that answered lacks the document.
   */
  async #compareRepeated(jobs: readonly Job[]): Promise<readonly Job[]> {
    let answers: readonly (StoredState | undefined)[] = []
    let failure: BulkFailure = { kind: 'retry', reason: 'the copy of the shard that answered lacks the document' }
    try {
      answers = await this.#options.readStored(jobs.map(({ list }) => list))
    } catch (error) {
      const requestFailure = this.#classify(error)
      failure = isFailure(requestFailure) ? requestFailure : { kind: 'retry', reason: requestFailure.reason }
    }
    const batch: Pick<Batch, 'failed'> = { failed: [] }
    jobs.forEach((job, at) => {
      const stored = answers[at]
      if (stored !== undefined && stored.version >= job.version) this.#finish(job, stored)
      else this.#fail([job], batch, failure)
    })
    return batch.failed
  }

  #finish(job: Job, stored: StoredState): void {
    this.#release(job)
    reportOutcomes(job, stored)
  }

  #release(job: Job): void {
    this.#queue.finish(job)
    if (this.#blocked.delete(job.entity) && this.#blocked.size === 0) this.#options.onBlocked(undefined)
  }

  #fail(jobs: readonly Job[], { failed }: Pick<Batch, 'failed'>, failure: BulkFailure): void {
    const wasBlocked = this.#blocked.size > 0
    for (const job of jobs) {
      const blocked = this.#blocked.get(job.entity) ?? { name: job.name(), sinceMs: this.#options.elapsedMs() }
      this.#blocked.set(job.entity, { ...blocked, reason: failure.reason })
      job.documents.forEach(copySource)
      job.attempts++
      failed.push(job)
    }
    if (!wasBlocked && jobs.length > 0) this.#options.onBlocked(failure)
  }

  /**
   * Rejects a record. The first time, queues it again, its `rejected` documents without the repeated JSON names that Elasticsearch refuses. The second time,
   * reports the outcome `rejected`, and queues the newest of the records that this record superseded.
   */
  #reject(job: Job, rejected: Documents, reason: string): void {
    if (!job.hasNamesOnce) {
      job.hasNamesOnce = true
      job.documents = job.documents.map((document) =>
        rejected.includes(document) ? withNamesOnce(document) : document,
      )
      this.#queue.putBack(job)
      return
    }
    this.#release(job)
    const next = reportRejection(job, reason)
    if (next !== undefined) this.#queue.putBack(next)
  }
}

const notSent: ItemOutcome = { kind: 'retry', reason: 'was not sent' }

const isDone = (outcome: ItemOutcome | undefined): boolean => outcome?.kind === 'written' || outcome?.kind === 'stale'

const isFailure = (outcome: ItemOutcome | RequestFailure): outcome is BulkFailure =>
  outcome.kind === 'retry' || outcome.kind === 'away' || outcome.kind === 'busy' || outcome.kind === 'pause'
