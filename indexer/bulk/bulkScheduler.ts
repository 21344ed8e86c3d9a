import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs } from '../backoff.ts'
import type { Documents } from '../convertRecord.ts'
import type { ItemOutcome } from './bulkFailure.ts'
import { bytesOf, type Job, newJob, type RecordWrite, shardOf, winnerOf } from './job.ts'

export type SchedulerOptions = {
  /** The bounds of one bulk request. A single record may be larger. */
  readonly maxBulkBytes: number
  readonly maxBulkDocuments: number
  /** The most records that are sent in a second; without it there is no limit. */
  readonly maxRecordsPerSecond?: number | undefined
  readonly random: () => number
  readonly signal: AbortSignal
  /** Called with a bug, after which the batch that met it is never finished. */
  onFatal(error: Error): void
}

/** Resolves with whether any request had results by document, and with the jobs to be sent again after a backoff. */
type Send = (jobs: readonly Job[]) => Promise<{ hasResults: boolean; failed: readonly Job[] }>

/** Records that wait to be sent, by entity, and how many requests of them are under way. */
type Lane = { readonly waiting: Map<string, Job>; requests: number }

/** Requests under way at once, unless Elasticsearch is overloaded. */
const maxRequests = 2
const minShare = 1 / 64
const shareStep = 1 / 16
/** A request that used less of its bounds says nothing about larger ones. */
const usedShare = 1 / 2
/** The records that `maxRecordsPerSecond` allows in this time may be sent at once. */
const burstSeconds = 0.1

/**
 * Decides when the next request is sent, and what it holds: of each entity only the record that counts, and none while another one of the
 * entity is in flight. Each sign of overload halves the bounds of requests; each success widens them a little again.
 *
 * Elasticsearch answers a request once every shard has, and waits for one that has no primary. So records of such shards go in requests of
 * their own, one at a time, and those of all others are written as fast as before.
 */
export class BulkScheduler {
  readonly #options: SchedulerOptions
  readonly #send: Send
  readonly #ordinary: Lane = { waiting: new Map(), requests: 0 }
  readonly #apart: Lane = { waiting: new Map(), requests: 0 }
  /** The shards that had no primary when a document was last sent to them. */
  readonly #away = new Set<string>()
  /** The entities of which a record is in flight, or waits for its next attempt. */
  readonly #inFlight = new Set<string>()
  readonly #perSecond: number
  #submitted = 0
  /** The share of the bounds that a request may use; below 1, one request at a time. */
  #share = 1
  #isScheduled = false
  #isResting = false

  constructor(options: SchedulerOptions, send: Send) {
    this.#options = options
    this.#send = send
    this.#perSecond = options.maxRecordsPerSecond ?? Number.POSITIVE_INFINITY
  }

  /** Sends only after the caller's turn of the event loop, so that all records of one fetch can share a request. */
  submit(write: RecordWrite): void {
    this.#enqueue(newJob(write, this.#submitted++))
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#sendBatches()
    })
  }

  /** Lets other records of the job's entity be sent. */
  finish({ entity }: Job): void {
    this.#inFlight.delete(entity)
  }

  /** Lets the job be sent again, unless a newer record of its entity counts by now. */
  putBack(job: Job): void {
    this.finish(job)
    this.#enqueue(job)
  }

  /** Records that have failed equally often wait together, and no others with them. */
  async retryLater(failed: readonly Job[]): Promise<void> {
    const { random, signal } = this.#options
    const retries = [...Map.groupBy(failed, ({ attempts }) => attempts)].map(async ([attempts, jobs]) => {
      await sleep(backoffMs(attempts, random), undefined, { signal })
      for (const job of jobs) this.putBack(job)
      this.#sendBatches()
    })
    await Promise.all(retries)
  }

  /** Notes which shards have no primary, by the outcomes of documents. */
  noteShards(documents: Documents, outcomes: readonly ItemOutcome[]): void {
    if (this.#away.size === 0 && outcomes.every(({ kind }) => kind !== 'away')) return
    const shards = new Map(documents.map((document, at) => [shardOf(document), outcomes[at]?.kind === 'away']))
    let hasChanged = false
    for (const [shard, isAway] of shards) {
      if (this.#away.has(shard) === isAway) continue
      hasChanged = true
      if (isAway) this.#away.add(shard)
      else this.#away.delete(shard)
    }
    if (!hasChanged) return
    const waiting = [this.#ordinary, this.#apart].flatMap((lane) => [...lane.waiting.values()])
    for (const lane of [this.#ordinary, this.#apart]) lane.waiting.clear()
    for (const job of waiting) this.#laneOf(job).waiting.set(job.entity, job)
  }

  /** Halves the bounds, because Elasticsearch is overloaded. */
  halveBounds(): void {
    this.#share = Math.max(minShare, this.#share / 2)
  }

  /** Widens the bounds after the success of a request of this size. */
  widenBounds(documents: number, bytes: number): void {
    const { maxBulkBytes, maxBulkDocuments } = this.#options
    const used = this.#share * usedShare
    if (documents < maxBulkDocuments * used && bytes < maxBulkBytes * used) return
    this.#share = Math.min(1, this.#share + shareStep)
  }

  /** Does work that may put jobs back. An error is a bug, unless the writer was stopped. */
  run(work: Promise<void>): void {
    work
      .then(() => this.#sendBatches())
      .catch((error: unknown) => {
        if (!this.#options.signal.aborted) this.#options.onFatal(error as Error)
      })
  }

  #enqueue(job: Job): void {
    const { entity } = job
    const lanes = [this.#ordinary, this.#apart]
    const waiting = lanes.map((lane) => lane.waiting.get(entity)).find((each) => each !== undefined)
    const winner = waiting === undefined ? job : winnerOf(waiting, job)
    const lane = this.#laneOf(winner)
    for (const each of lanes) if (each !== lane) each.waiting.delete(entity)
    // An entity keeps its place, however often it changes.
    lane.waiting.set(entity, winner)
  }

  #laneOf({ documents }: Job): Lane {
    const isApart = this.#away.size > 0 && documents.some((document) => this.#away.has(shardOf(document)))
    return isApart ? this.#apart : this.#ordinary
  }

  #sendBatches(): void {
    this.#sendFrom(this.#apart, 1)
    this.#sendFrom(this.#ordinary, this.#share < 1 ? 1 : maxRequests)
  }

  #sendFrom(lane: Lane, mostRequests: number): void {
    while (!this.#isResting && lane.requests < mostRequests && !this.#options.signal.aborted) {
      const jobs = this.#nextBatch(lane)
      if (jobs.length === 0) return
      lane.requests++
      this.run(this.#sendBatch(lane, jobs))
      if (this.#perSecond < Number.POSITIVE_INFINITY) this.run(this.#rest(jobs.length))
    }
  }

  #nextBatch({ waiting }: Lane): Job[] {
    const { maxBulkBytes, maxBulkDocuments } = this.#options
    const maxRecords = Math.max(1, Math.floor(this.#perSecond * burstSeconds))
    const jobs: Job[] = []
    let [bytes, documents] = [0, 0]
    for (const [entity, job] of waiting) {
      if (this.#inFlight.has(entity)) continue
      bytes += bytesOf(job.documents)
      documents += job.documents.length
      const isFull = bytes > maxBulkBytes * this.#share || documents > maxBulkDocuments * this.#share
      if (jobs.length > 0 && (isFull || jobs.length >= maxRecords)) break
      waiting.delete(entity)
      this.#inFlight.add(entity)
      jobs.push(job)
    }
    return jobs
  }

  /** Sends nothing until `maxRecordsPerSecond` allows more than these records. */
  async #rest(records: number): Promise<void> {
    this.#isResting = true
    await sleep((records / this.#perSecond) * 1_000, undefined, { signal: this.#options.signal })
    this.#isResting = false
  }

  async #sendBatch(lane: Lane, jobs: readonly Job[]): Promise<void> {
    const { hasResults, failed } = await this.#send(jobs)
    const retries = this.retryLater(failed)
    // Nothing got through: then nothing is sent in the place of this request, either.
    if (!hasResults) await retries
    else this.run(retries)
    lane.requests--
  }
}
