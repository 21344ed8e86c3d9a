import { setTimeout as sleep } from 'node:timers/promises'
import type { Revision } from '../../src/core/model/ids.ts'
import { type DocumentWrite, withNamesOnce } from '../../src/core/stores/documents.ts'
import { backoffMs } from '../backoff.ts'
import { type ItemOutcome, judgeRequestError, type RequestError } from './bulkFailure.ts'
import { UnfitAnswer } from './bulkRequest.ts'

/** What became of one record: stored, not newer than what is stored, or refused by Elasticsearch for good. */
export type Outcome =
  | { readonly kind: 'indexed' }
  | { readonly kind: 'stale' }
  | { readonly kind: 'rejected'; readonly reason: string }

/** One record's documents; it is done when all of them are. */
export type RecordWrite = {
  readonly documents: readonly DocumentWrite[]
  readonly version: Revision
  done(outcome: Outcome): void
}

type Job = RecordWrite & {
  /** Documents of one entity share it: one write per entity is under way at a time. */
  readonly entity: string
  /** Whether one of the record's documents was stored, and not only found stale. */
  readonly isStored: boolean
  readonly isCleaned: boolean
  /** Whether it was refused alone while others passed. */
  readonly isConvicted: boolean
  /** Whether the last attempt ended in a failure that time may heal. */
  readonly isTroubled: boolean
  /** Older records of the entity that this one makes stale once it is done, and that count again if it is refused. */
  readonly superseded: Superseded | undefined
}

/** A linked list: an entity that changes ten thousand times while a request is under way costs no more than others. */
type Superseded = { readonly job: Job; readonly next: Superseded | undefined }

/** What the requests of one flight have shown so far. */
type Flight = {
  /** Whether any of them was answered item by item. */
  isAnswered: boolean
  /** Records that were refused alone, by an answer that may as well be about something else. */
  readonly suspects: { readonly job: Job; readonly reason: string }[]
}

export type WriterOptions = {
  /** Sends one bulk request; outcomes in the order of the documents. */
  send(documents: readonly DocumentWrite[]): Promise<ItemOutcome[]>
  readonly maxBulkBytes: number
  readonly maxBulkDocuments: number
  readonly maxFlights: number
  readonly random: () => number
  readonly signal: AbortSignal
  /** Hears what keeps documents from being stored; null when it is over. */
  onTrouble(trouble: RequestError | null): void
  /** Hears of a bug; the writer stands still after it. */
  onFatal(error: Error): void
}

/**
 * Stores documents by bulk requests: batches grow while requests are under way, the newest record of an entity goes alone,
 * every item is judged, and what can succeed later is tried until it does, with full jitter.
 */
export class BulkWriter {
  readonly #options: WriterOptions
  readonly #pending = new Map<string, Job>()
  readonly #underWay = new Set<string>()
  #flights = 0
  #failures = 0
  #isScheduled = false

  constructor(options: WriterOptions) {
    this.#options = options
  }

  /** Takes a record over; `done` is called once. The caller bounds how much is handed over. */
  submit({ documents, version, done }: RecordWrite): void {
    const first = documents[0]
    if (first === undefined) throw new Error('a record writes at least one document')
    this.#enqueue({
      documents,
      version,
      done,
      entity: `${first.kind}/${first.id}`,
      isStored: false,
      isCleaned: false,
      isConvicted: false,
      isTroubled: false,
      superseded: undefined,
    })
    this.#schedule()
  }

  #enqueue(job: Job): void {
    const waiting = this.#pending.get(job.entity)
    if (waiting === undefined) this.#pending.set(job.entity, job)
    else this.#pending.set(job.entity, waiting.version >= job.version ? over(waiting, job) : over(job, waiting))
  }

  /** Only after the caller's turn, so that all records of one fetch can share a request. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#launch()
    })
  }

  #launch(): void {
    while (this.#flights < this.#options.maxFlights && !this.#options.signal.aborted) {
      const jobs = this.#nextBatch()
      if (jobs.length === 0) return
      this.#flights++
      this.#fly(jobs).catch((error: unknown) => {
        if (!this.#options.signal.aborted) this.#options.onFatal(error as Error)
      })
    }
  }

  #nextBatch(): Job[] {
    const jobs: Job[] = []
    let bytes = 0
    let documents = 0
    for (const [entity, job] of this.#pending) {
      if (this.#underWay.has(entity)) continue
      const jobBytes = sizeOf(job)
      if (jobs.length > 0 && bytes + jobBytes > this.#options.maxBulkBytes) break
      if (documents + job.documents.length > this.#options.maxBulkDocuments) break
      this.#pending.delete(entity)
      this.#underWay.add(entity)
      jobs.push(job)
      bytes += jobBytes
      documents += job.documents.length
    }
    return jobs
  }

  async #fly(jobs: readonly Job[]): Promise<void> {
    const flight: Flight = { isAnswered: false, suspects: [] }
    const again = await this.#attempt(jobs, flight)
    again.push(...this.#judgeSuspects(flight))
    if (again.some((job) => job.isTroubled)) {
      this.#failures++
      await sleep(backoffMs(this.#failures, this.#options.random), undefined, { signal: this.#options.signal })
    } else {
      this.#failures = 0
      this.#options.onTrouble(null)
    }
    for (const job of jobs) this.#underWay.delete(job.entity)
    for (const job of again) this.#enqueue(job)
    this.#flights--
    this.#launch()
  }

  /** Sends the jobs; returns those that must be sent again later. */
  async #attempt(jobs: readonly Job[], flight: Flight): Promise<Job[]> {
    let outcomes: ItemOutcome[]
    try {
      outcomes = await this.#options.send(jobs.flatMap((job) => job.documents))
    } catch (error) {
      this.#options.signal.throwIfAborted()
      const failure = error instanceof UnfitAnswer ? retryOf(error) : judgeRequestError(error)
      return await this.#afterFailure(jobs, flight, failure, error)
    }
    flight.isAnswered = true
    const tooLarge: Job[] = []
    let from = 0
    const again = jobs.flatMap((job) => {
      const mine = outcomes.slice(from, from + job.documents.length)
      from += job.documents.length
      if (mine.every(({ kind }) => kind !== 'split')) return this.#settle(job, mine)
      tooLarge.push({ ...job, isStored: job.isStored || mine.some(({ kind }) => kind === 'written') })
      return []
    })
    const reason = outcomes.find((outcome) => outcome.kind === 'split')?.reason
    if (reason === undefined) return again
    return [...again, ...(await this.#afterFailure(tooLarge, flight, { kind: 'split', reason }, undefined))]
  }

  async #afterFailure(jobs: readonly Job[], flight: Flight, failure: RequestError, error: unknown): Promise<Job[]> {
    switch (failure.kind) {
      case 'fatal':
        throw error
      case 'retry':
      case 'pause':
        this.#options.onTrouble(failure)
        return jobs.map((job) => ({ ...job, isTroubled: true }))
      case 'split':
      case 'suspect': {
        const [only] = jobs
        if (jobs.length > 1 || only === undefined) return await this.#attemptHalves(jobs, flight)
        if (failure.kind === 'split' || only.isConvicted) return this.#refuse(only, only.documents, failure.reason)
        flight.suspects.push({ job: only, reason: failure.reason })
        return []
      }
    }
  }

  async #attemptHalves(jobs: readonly Job[], flight: Flight): Promise<Job[]> {
    const middle = Math.ceil(jobs.length / 2)
    const first = await this.#attempt(jobs.slice(0, middle), flight)
    return [...first, ...(await this.#attempt(jobs.slice(middle), flight))]
  }

  /** A record is at fault only when others pass: where nothing does, it is the way to Elasticsearch. */
  #judgeSuspects({ isAnswered, suspects }: Flight): Job[] {
    return suspects.flatMap(({ job, reason }) => {
      if (isAnswered) return this.#refuse({ ...job, isConvicted: true }, job.documents, reason)
      this.#options.onTrouble({ kind: 'pause', reason })
      return [{ ...job, isTroubled: true }]
    })
  }

  /** Finishes a job by its documents' outcomes, or returns what is left of it. */
  #settle(job: Job, outcomes: readonly ItemOutcome[]): Job[] {
    const isStored = job.isStored || outcomes.some((outcome) => outcome.kind === 'written')
    if (outcomes.every(isSettled)) {
      job.done({ kind: isStored ? 'indexed' : 'stale' })
      for (const older of supersededBy(job)) older.done({ kind: 'stale' })
      return []
    }
    const waiting = job.documents.filter((_, at) => isUnsettled(outcomes[at]))
    const refused = job.documents.filter((_, at) => outcomes[at]?.kind === 'reject')
    const reason = outcomes.find((outcome) => outcome.kind === 'reject')?.reason
    if (reason !== undefined)
      return this.#refuse({ ...job, isStored, documents: [...waiting, ...refused] }, refused, reason)
    const trouble = outcomes.find((outcome) => outcome.kind === 'pause' || outcome.kind === 'retry')
    if (trouble !== undefined) this.#options.onTrouble(trouble)
    return [{ ...job, isStored, isTroubled: true, documents: waiting }]
  }

  /** A refused document is tried once more without repeated names; then its record is rejected, and older ones count. */
  #refuse(job: Job, refused: readonly DocumentWrite[], reason: string): Job[] {
    if (!job.isCleaned) {
      const documents = job.documents.map((document) =>
        refused.includes(document) ? withNamesOnce(document) : document,
      )
      return [{ ...job, isCleaned: true, isTroubled: false, documents }]
    }
    job.done({ kind: 'rejected', reason })
    const [next, ...rest] = supersededBy(job)
      .map((older) => ({ ...older, isTroubled: false, superseded: undefined }))
      .sort((a, b) => b.version - a.version)
    return next === undefined ? [] : [rest.reduce(over, next)]
  }
}

const isSettled = ({ kind }: ItemOutcome): boolean => kind === 'written' || kind === 'stale'

const isUnsettled = (outcome: ItemOutcome | undefined): boolean =>
  outcome?.kind === 'retry' || outcome?.kind === 'pause'

const over = (newer: Job, older: Job): Job => ({ ...newer, superseded: { job: older, next: newer.superseded } })

/** Every record that `job` stands over, however many deep. */
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

const retryOf = (error: Error): RequestError => ({ kind: 'retry', reason: error.message })
