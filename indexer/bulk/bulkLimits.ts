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
