import { LRUCache } from 'lru-cache'
import type { Counter, Registry } from 'prom-client'
import { metricsIn } from '../core/monitoring/metrics.ts'

export type RenderedAnswer = { readonly body: Buffer; readonly totalDocs?: number }

export type Answer = RenderedAnswer & { readonly compression: string | undefined }

/** A larger answer is not cached: it would displace too many others. */
const maxPartOfCache = 1 / 16
const estimatedEntryBytes = 300

type LookupResult = 'hit' | 'shared' | 'miss'

/** `isAbandoned`: whether the client for which the answer is made has disconnected. */
type PendingAnswer = { readonly answer: Promise<Answer>; isAbandoned(): boolean }

/** A cache key names everything on which its answer depends: team, list version, path, parameters and encoding. So no answer is ever invalidated. */
export class AnswerCache {
  readonly #cache: LRUCache<string, Answer> | undefined
  readonly #pending = new Map<string, PendingAnswer>()
  readonly #lookups: Counter<'result'>

  /** `maxBytes` 0 turns the cache off. */
  constructor(maxBytes: number, registry: Registry) {
    if (maxBytes > 0)
      this.#cache = new LRUCache({
        maxSize: maxBytes,
        maxEntrySize: Math.ceil(maxBytes * maxPartOfCache),
        sizeCalculation: ({ body }, key) => body.length + key.length + estimatedEntryBytes,
      })
    const { counter, gauge } = metricsIn(registry)
    const lookups = 'Answers that were cached (hit), made for a concurrent request (shared), or made (miss)'
    this.#lookups = counter('tidemark_http_answer_cache_lookups_total', lookups, ['result'])
    for (const result of ['hit', 'shared', 'miss'] satisfies LookupResult[]) this.#lookups.inc({ result }, 0)
    const bytes = 'Used part of ANSWER_CACHE_BYTES'
    gauge('tidemark_http_answer_cache_bytes', bytes, () => this.#cache?.calculatedSize ?? 0)
  }

  get(key: string): Answer | undefined {
    const cached = this.#cache?.get(key)
    if (cached !== undefined) this.#lookups.inc({ result: 'hit' })
    return cached
  }

  /** Concurrent requests for a cache key share one call of `make`, and its error. */
  async make(key: string, make: () => Promise<Answer>, isAbandoned: () => boolean): Promise<Answer> {
    if (this.#cache === undefined) return await this.#count('miss', make())
    for (let pending = this.#pending.get(key); pending !== undefined; pending = this.#pending.get(key)) {
      try {
        return await this.#count('shared', pending.answer)
      } catch (error) {
        // The first client may have disconnected, which aborts its query. Then this request tries again.
        if (!pending.isAbandoned()) throw error
      }
    }
    const answer = make().finally(() => this.#pending.delete(key))
    this.#pending.set(key, { answer, isAbandoned })
    const newAnswer = await this.#count('miss', answer)
    // The body may be a slice, which would keep its larger buffer in memory.
    this.#cache.set(key, { ...newAnswer, body: Buffer.from(new Uint8Array(newAnswer.body).buffer) })
    return newAnswer
  }

  async #count(result: LookupResult, pending: Promise<Answer>): Promise<Answer> {
    const answer = await pending
    this.#lookups.inc({ result })
    return answer
  }
}
