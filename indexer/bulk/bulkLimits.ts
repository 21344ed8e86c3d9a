/** The bounds of one bulk request, and of requests at once. A single record may be larger. */
export type BulkBounds = {
  readonly maxBulkBytes: number
  readonly maxBulkDocuments: number
  readonly maxConcurrentRequests: number
}

const minShare = 1 / 64
const shareStep = 1 / 16
/** A request that used less of what it was allowed says nothing about larger ones. */
const usedShare = 1 / 2

/**
 * How large bulk requests may be now, and how many may be under way. Each sign of overload halves both; each request that succeeds makes
 * the next ones a little larger, and then lets one more run beside them.
 */
export class BulkLimits {
  readonly #bounds: BulkBounds
  #share = 1
  #requests: number

  constructor(bounds: BulkBounds) {
    this.#bounds = bounds
    this.#requests = bounds.maxConcurrentRequests
  }

  get maxBytes(): number {
    return this.#bounds.maxBulkBytes * this.#share
  }

  get maxDocuments(): number {
    return this.#bounds.maxBulkDocuments * this.#share
  }

  get maxRequests(): number {
    return this.#requests
  }

  /** Elasticsearch has more to do than it can. */
  shrink(): void {
    this.#share = Math.max(minShare, this.#share / 2)
    this.#requests = Math.max(1, Math.floor(this.#requests / 2))
  }

  /** A request of this size succeeded. */
  grow(documents: number, bytes: number): void {
    if (documents < this.maxDocuments * usedShare && bytes < this.maxBytes * usedShare) return
    if (this.#share < 1) this.#share = Math.min(1, this.#share + shareStep)
    else this.#requests = Math.min(this.#bounds.maxConcurrentRequests, this.#requests + 1)
  }
}

/** What a second allows may come at once for so long a time. */
const burstSeconds = 0.1

/** A ceiling on records a second: a token bucket. Without one, everything is allowed. */
export class RecordRate {
  readonly #perSecond: number | undefined
  readonly #elapsedMs: () => number
  #left: number
  #filledAtMs: number

  /** `elapsedMs`: time that never steps. */
  constructor(perSecond: number | undefined, elapsedMs: () => number) {
    this.#perSecond = perSecond
    this.#elapsedMs = elapsedMs
    this.#left = burstOf(perSecond)
    this.#filledAtMs = elapsedMs()
  }

  /** How many records may be sent now. */
  allowed(): number {
    const nowMs = this.#elapsedMs()
    const filled = this.#left + ((nowMs - this.#filledAtMs) / 1_000) * (this.#perSecond ?? 0)
    this.#left = Math.min(burstOf(this.#perSecond), filled)
    this.#filledAtMs = nowMs
    return Math.floor(this.#left)
  }

  take(records: number): void {
    this.#left -= records
  }

  /** After this time as many records are allowed as may come at once (ms). */
  waitMs(): number {
    if (this.#perSecond === undefined) return 0
    return Math.ceil(((burstOf(this.#perSecond) - this.#left) / this.#perSecond) * 1_000)
  }
}

const burstOf = (perSecond: number | undefined): number =>
  perSecond === undefined ? Number.POSITIVE_INFINITY : Math.max(1, perSecond * burstSeconds)
