import { type Job, newJob, type RecordWrite, sizeOf, winnerOf } from './job.ts'

/** The most that one request may hold. A single record may be larger. */
type RequestBounds = { readonly maxBytes: number; readonly maxDocuments: number; readonly maxRecords: number }

/** The records that wait to be sent: of each entity only the one that counts, and none while another one of the entity is in flight. */
export class BulkQueue {
  readonly #pending = new Map<string, Job>()
  readonly #inFlight = new Set<string>()
  #submitted = 0

  submit(write: RecordWrite): void {
    this.#enqueue(newJob(write, this.#submitted++))
  }

  /** Takes what the next request sends; it stays in flight until it is released or put back. `isCutOff`: more may be sent but for `maxRecords`. */
  take({ maxBytes, maxDocuments, maxRecords }: RequestBounds): { jobs: Job[]; isCutOff: boolean } {
    const jobs: Job[] = []
    let bytes = 0
    let documents = 0
    for (const [entity, job] of this.#pending) {
      if (this.#inFlight.has(entity)) continue
      if (jobs.length >= maxRecords) return { jobs, isCutOff: true }
      bytes += sizeOf(job)
      documents += job.documents.length
      if (jobs.length > 0 && (bytes > maxBytes || documents > maxDocuments)) break
      this.#pending.delete(entity)
      this.#inFlight.add(entity)
      jobs.push(job)
    }
    return { jobs, isCutOff: false }
  }

  /** From now on other records of these entities may be sent. */
  release(jobs: Iterable<Job>): void {
    for (const { entity } of jobs) this.#inFlight.delete(entity)
  }

  /** Lets jobs be sent again, unless newer records of their entities count by now. */
  putBack(jobs: Iterable<Job>): void {
    for (const job of jobs) {
      this.#inFlight.delete(job.entity)
      this.#enqueue({ ...job, failure: undefined })
    }
  }

  #enqueue(job: Job): void {
    const waiting = this.#pending.get(job.entity)
    this.#pending.set(job.entity, waiting === undefined ? job : winnerOf(waiting, job))
  }
}
