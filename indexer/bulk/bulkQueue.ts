import type { Documents } from '../convertRecord.ts'
import type { ItemOutcome } from './bulkFailure.ts'
import { bytesOf, type Job, newJob, type RecordWrite, shardOf, supersede } from './job.ts'

/** The bounds of one bulk request. A single record may be larger. */
export type BulkBounds = { readonly maxBulkBytes: number; readonly maxBulkDocuments: number }

/** `withoutPrimary`: the records of shards without a primary. */
export type Lane = 'withoutPrimary' | 'ordinary'

/** The least part of `BulkBounds` to which overload reduces a batch. */
const minShare = 1 / 64
const shareStep = 1 / 16
/** The success of a request below this part of the present bounds does not widen them. */
const minUsedShare = 1 / 2

/**
 * The records that wait to be sent, formed into batches. A batch has at most one record of an entity, and none of an entity with a record in flight. Overload
 * halves the bounds of batches; the success of a large batch widens them a little.
 *
 * Elasticsearch delays a request for a shard without a primary. So such records have their own lane.
 */
export class BulkQueue {
  readonly #bounds: BulkBounds
  /** Lane → entity → its waiting record, in the order in which the entities were queued. */
  readonly #waiting: Readonly<Record<Lane, Map<string, Job>>> = { withoutPrimary: new Map(), ordinary: new Map() }
  /** The shards (`shardOf`) whose last document met a missing primary. */
  readonly #shardsWithoutPrimary = new Set<string>()
  /** The entities with a record in a request or a backoff. */
  readonly #inFlight = new Set<string>()
  #addedCount = 0
  /** The part of `BulkBounds` that a batch may use now. */
  #share = 1

  constructor(bounds: BulkBounds) {
    this.#bounds = bounds
  }

  get isOverloaded(): boolean {
    return this.#share < 1
  }

  add(write: RecordWrite): void {
    this.#enqueue(newJob(write, this.#addedCount++))
  }

  /** Removes the next batch from a lane. Its entities are in flight until `finish` or `putBack`. */
  nextBatch(lane: Lane, maxRecords: number): Job[] {
    const { maxBulkBytes, maxBulkDocuments } = this.#bounds
    const waiting = this.#waiting[lane]
    const jobs: Job[] = []
    let bytes = 0
    let documents = 0
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

  finish({ entity }: Job): void {
    this.#inFlight.delete(entity)
  }

  /** Queues a job again. If another record of its entity waits, one supersedes the other. */
  putBack(job: Job): void {
    this.finish(job)
    this.#enqueue(job)
  }

  /** Learns from a request which shards have no primary, and moves waiting records between the lanes. */
  updateLanes(documents: Documents, outcomes: readonly ItemOutcome[]): void {
    if (this.#shardsWithoutPrimary.size === 0 && outcomes.every(({ kind }) => kind !== 'away')) return
    const lacksPrimaryByShard = new Map(
      documents.map((document, index) => [shardOf(document), outcomes[index]?.kind === 'away']),
    )
    let hasChanged = false
    for (const [shard, lacksPrimary] of lacksPrimaryByShard) {
      if (this.#shardsWithoutPrimary.has(shard) === lacksPrimary) continue
      hasChanged = true
      if (lacksPrimary) this.#shardsWithoutPrimary.add(shard)
      else this.#shardsWithoutPrimary.delete(shard)
    }
    if (!hasChanged) return
    const lanes = [this.#waiting.ordinary, this.#waiting.withoutPrimary]
    const jobs = lanes.flatMap((waiting) => [...waiting.values()])
    for (const waiting of lanes) waiting.clear()
    for (const job of jobs) this.#waiting[this.#laneOf(job)].set(job.entity, job)
  }

  halveBounds(): void {
    this.#share = Math.max(minShare, this.#share / 2)
  }

  widenBounds(documents: number, bytes: number): void {
    const { maxBulkBytes, maxBulkDocuments } = this.#bounds
    const leastShare = this.#share * minUsedShare
    if (documents < maxBulkDocuments * leastShare && bytes < maxBulkBytes * leastShare) return
    this.#share = Math.min(1, this.#share + shareStep)
  }

  #enqueue(job: Job): void {
    const { entity } = job
    const { withoutPrimary, ordinary } = this.#waiting
    const waitingJob = ordinary.get(entity) ?? withoutPrimary.get(entity)
    const winner = waitingJob === undefined ? job : supersede(waitingJob, job)
    const lane = this.#laneOf(winner)
    const otherLane = lane === 'withoutPrimary' ? ordinary : withoutPrimary
    otherLane.delete(entity)
    // `set` leaves a waiting entity in its place: at the end, an entity that changes often would never be sent.
    this.#waiting[lane].set(entity, winner)
  }

  #laneOf({ documents }: Job): Lane {
    const isWithoutPrimary =
      this.#shardsWithoutPrimary.size > 0 &&
      documents.some((document) => this.#shardsWithoutPrimary.has(shardOf(document)))
    return isWithoutPrimary ? 'withoutPrimary' : 'ordinary'
  }
}
