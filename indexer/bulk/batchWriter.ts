import { type CheckOutcome, failed, passed } from '../../src/core/monitoring/health.ts'
import { copySource, type Documents, type DocumentWrite, withNamesOnce } from '../convertRecord.ts'
import type { BulkCalls } from './bulkApi.ts'
import {
  type BulkFailure,
  classifyRequestError,
  type ItemOutcome,
  isDone,
  isFailure,
  notSent,
  type RequestFailure,
} from './bulkFailure.ts'
import type { BulkQueue } from './bulkQueue.ts'
import {
  type Batch,
  bytesOf,
  confirmSuspicion,
  type Job,
  listToRepeat,
  mustCompare,
  onlyJobOf,
  reportOutcomes,
  reportRejection,
  type StoredState,
  shardOf,
} from './job.ts'

type BatchResult = Pick<Batch, 'hasResults'> & {
  readonly failed: readonly Job[]
  /** Compares the `repeated` records while the next batch is sent. Resolves with the jobs that could not be compared. */
  readonly comparison?: Promise<readonly Job[]> | undefined
}

export type BatchWriterOptions = BulkCalls & {
  readonly signal: AbortSignal
  readonly elapsedMs: () => number
  /** Called with the failure when a first record begins to wait for a retry; with undefined when none waits any more. */
  onBlocked(failure: BulkFailure | undefined): void
}

/** The record that has waited longest, and its last error. */
export type BlockedRecord = { readonly name: string; readonly reason: string; readonly forMs: number }

/**
 * Sends batches. The kind of an outcome (explained in `bulkFailure.ts`) decides whether its record is finished, rejected, put back into the queue at once, or
 * returned for a backoff.
 */
export class BatchWriter {
  readonly #options: BatchWriterOptions
  readonly #queue: BulkQueue
  /** By entity, in the order in which the records first failed. */
  readonly #blocked = new Map<string, { readonly name: string; readonly sinceMs: number; readonly reason: string }>()

  constructor(options: BatchWriterOptions, queue: BulkQueue) {
    this.#options = options
    this.#queue = queue
  }

  health(): CheckOutcome {
    const blocked = this.blocked()
    if (blocked === undefined) return passed
    const others = this.#blocked.size === 1 ? '' : ` and ${this.#blocked.size - 1} others`
    return failed(
      `no progress for ${Math.floor(blocked.forMs / 1_000)} s at ${blocked.name}${others}: ${blocked.reason}`,
    )
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
    // If another request of the batch had results, Elasticsearch works: a record refused with status 400 is at fault. If none had, a proxy may refuse
    // everything: the record waits.
    for (const { job, reason } of batch.badRequests)
      if (batch.hasResults) this.#reject(job, job.documents, reason)
      else this.#fail([job], batch, { kind: 'pause', reason })
    const comparison = batch.repeated.length > 0 ? this.#compareRepeated(batch.repeated) : undefined
    return { hasResults: batch.hasResults, failed: batch.failed, comparison }
  }

  /** Sends jobs in one request, or in halves if smaller requests may succeed. */
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
    const writableShards = await this.#writableShards(documents, outcomes)
    const tooLarge: Job[] = []
    let firstIndex = 0
    for (const job of jobs) {
      const outcomesOfJob = outcomes.slice(firstIndex, firstIndex + job.documents.length)
      firstIndex += outcomesOfJob.length
      if (outcomesOfJob.some(({ kind }) => kind === 'written')) job.isStored = true
      if (outcomesOfJob.some(({ kind }) => kind === 'split')) tooLarge.push(job)
      else this.#applyOutcomes(job, outcomesOfJob, writableShards, batch)
    }
    const split = outcomes.find((outcome) => outcome.kind === 'split')
    if (split !== undefined) await this.#halveOrFail(tooLarge, batch, split)
  }

  async #send(jobs: readonly Job[], documents: Documents): Promise<ItemOutcome[]> {
    const job = onlyJobOf(jobs)
    return job?.isSentSingly ? await this.#sendSingly(job, documents) : await this.#options.send(documents)
  }

  /**
   * Sends the documents in requests of their own, the largest first. If the largest is too large, nothing was stored, and all get its outcome, so that `#reject`
   * gets the whole record. After any other failure, the rest is not sent.
   */
  async #sendSingly(job: Job, documents: Documents): Promise<ItemOutcome[]> {
    const outcomes = new Map<DocumentWrite, ItemOutcome>()
    let outcomeOfUnsent = notSent
    for (const document of documents.toSorted((a, b) => b.source.length - a.source.length)) {
      const [outcome = notSent] = await this.#options.send([document])
      if (outcome.kind === 'split') return documents.map(() => outcome)
      if (outcome.kind === 'written') job.isStored = true
      outcomes.set(document, outcome)
      if (isDone(outcome)) continue
      if (isFailure(outcome)) outcomeOfUnsent = outcome
      break
    }
    return documents.map((document) => outcomes.get(document) ?? outcomeOfUnsent)
  }

  /** After a sign of overload. A record that was alone is then sent document by document. */
  #reduceLoad(jobs: readonly Job[]): void {
    this.#queue.halveBounds()
    const job = onlyJobOf(jobs)
    if (job !== undefined) job.isSentSingly = true
  }

  /** Throws if the writer was stopped, or the error is a bug. */
  #classify(error: unknown): RequestFailure {
    this.#options.signal.throwIfAborted()
    const failure = classifyRequestError(error)
    if (failure === undefined) throw error
    return failure
  }

  /** The shards with a `suspect` document that accept another write now: the document may be at fault. */
  async #writableShards(documents: Documents, outcomes: readonly ItemOutcome[]): Promise<ReadonlySet<string>> {
    const suspects = documents.filter((_, index) => outcomes[index]?.kind === 'suspect')
    const suspectByShard = new Map(suspects.map((document) => [shardOf(document), document]))
    if (suspectByShard.size === 0) return new Set()
    // If this query fails, no document counts as at fault.
    const answers = await this.#options.acceptsWrites([...suspectByShard.values()]).catch(() => [])
    return new Set([...suspectByShard.keys()].filter((_, index) => answers[index] === true))
  }

  /** Retries the jobs later, or halves the request until the record at fault is alone. */
  async #halveOrFail(jobs: readonly Job[], batch: Batch, failure: RequestFailure): Promise<void> {
    if (failure.kind === 'busy') this.#reduceLoad(jobs)
    if (isFailure(failure)) {
      this.#fail(jobs, batch, failure)
      return
    }
    const job = onlyJobOf(jobs)
    if (job === undefined) {
      const middle = Math.ceil(jobs.length / 2)
      await this.#attempt(jobs.slice(0, middle), batch)
      await this.#attempt(jobs.slice(middle), batch)
    } else if (failure.kind === 'split' && !job.isSentSingly) {
      job.isSentSingly = true
      await this.#attempt(jobs, batch)
    } else if (failure.kind === 'split') this.#reject(job, job.documents, failure.reason)
    // Without repeated names (`#reject`), it was refused again.
    else if (job.hasNamesOnce) this.#reject(job, job.documents, failure.reason)
    else batch.badRequests.push({ job, reason: failure.reason })
  }

  /** A rejection decides before a suspicion, and a suspicion before a failure that may pass. */
  #applyOutcomes(job: Job, outcomes: readonly ItemOutcome[], writable: ReadonlySet<string>, batch: Batch): void {
    job.staleList ??= job.documents.find(
      ({ kind }, index) => kind === job.list.kind && outcomes[index]?.kind === 'stale',
    )
    if (outcomes.every(isDone)) {
      this.#endWrite(job, batch)
      return
    }
    const reject = outcomes.find((outcome) => outcome.kind === 'reject')
    const rejected = job.documents.filter((_, index) => outcomes[index]?.kind === 'reject')
    const suspect = outcomes.find((outcome) => outcome.kind === 'suspect')
    const isShardWritable = job.documents.some(
      (document, index) => outcomes[index] === suspect && writable.has(shardOf(document)),
    )
    const failure = outcomes.find((outcome) => isFailure(outcome))
    job.documents = job.documents.filter((_, index) => !isDone(outcomes[index]))
    if (reject !== undefined) this.#reject(job, rejected, reject.reason)
    else if (suspect !== undefined) {
      const isAtFault = isShardWritable && confirmSuspicion(job, this.#options.elapsedMs())
      if (isAtFault) this.#reject(job, job.documents, suspect.reason)
      else this.#fail([job], batch, { kind: 'retry', reason: suspect.reason })
    } else if (failure !== undefined) this.#fail([job], batch, failure)
  }

  /** All documents of a record are stored or stale: finishes it, unless its list document must be written again or its content compared (`job.ts`). */
  #endWrite(job: Job, batch: Batch): void {
    const repeatedList = listToRepeat(job)
    if (repeatedList !== undefined) {
      job.staleList = repeatedList
      job.documents = [repeatedList]
      this.#queue.putBack(job)
    } else if (mustCompare(job)) batch.repeated.push(job)
    else this.#finish(job, { version: job.version, digest: job.isStored ? job.list.digest : undefined })
  }

  /**
   * Finishes records whose revision was stored before. Resolves with the jobs that could not be compared: Elasticsearch did not answer, or the answering copy
   * of the shard lacks the document.
   */
  async #compareRepeated(jobs: readonly Job[]): Promise<readonly Job[]> {
    let storedStates: readonly (StoredState | undefined)[] = []
    let failure: BulkFailure = { kind: 'retry', reason: 'the copy of the shard that answered lacks the document' }
    try {
      storedStates = await this.#options.readStored(jobs.map(({ list }) => list))
    } catch (error) {
      const requestFailure = this.#classify(error)
      failure = isFailure(requestFailure) ? requestFailure : { kind: 'retry', reason: requestFailure.reason }
    }
    const batch: Pick<Batch, 'failed'> = { failed: [] }
    jobs.forEach((job, index) => {
      const stored = storedStates[index]
      if (stored !== undefined && stored.version >= job.version) this.#finish(job, stored)
      else this.#fail([job], batch, failure)
    })
    return batch.failed
  }

  #finish(job: Job, stored: StoredState): void {
    this.#release(job)
    reportOutcomes(job, stored)
  }

  /** The next record of the entity may be sent. */
  #release(job: Job): void {
    this.#queue.finish(job)
    if (this.#blocked.delete(job.entity) && this.#blocked.size === 0) this.#options.onBlocked(undefined)
  }

  /** The jobs are to be sent again after a backoff. */
  #fail(jobs: readonly Job[], { failed }: Pick<Batch, 'failed'>, failure: BulkFailure): void {
    const wasBlocked = this.#blocked.size > 0
    for (const job of jobs) {
      const waiting = this.#blocked.get(job.entity) ?? { name: job.name(), sinceMs: this.#options.elapsedMs() }
      this.#blocked.set(job.entity, { ...waiting, reason: failure.reason })
      // A source may be a slice of a whole fetch, which the wait would keep in memory.
      job.documents.forEach(copySource)
      job.attempts++
      failed.push(job)
    }
    if (!wasBlocked && jobs.length > 0) this.#options.onBlocked(failure)
  }

  /**
   * First queues the record again, with its `rejected` documents without repeated JSON names, which Elasticsearch refuses. The second time, reports the
   * record as rejected, and queues the newest of the records that it had superseded in the queue.
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
