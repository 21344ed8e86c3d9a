import { LRUCache } from 'lru-cache'
import type { Counter, Registry } from 'prom-client'
import { metricsIn } from '../core/monitoring/metrics.ts'

/** A rendered answer: its body, and for a page the total of its list. */
export type Rendered = { readonly body: Buffer; readonly totalDocs?: number }

/** An answer with its body as it is sent, and the `Content-Encoding` of a compressed one. */
export type Answer = Rendered & { readonly compression: string | undefined }

/** The most that one answer may take: a few large ones must not displace all others. */
const maxPartOfCache = 1 / 16
/** The estimated overhead of an entry, besides body and name. */
const entryBytes = 300

type Found = 'hit' | 'shared' | 'miss'

/** An answer that is being made. `isAbandoned`: its client has disconnected. */
type Making = { readonly answer: Promise<Answer>; isAbandoned(): boolean }

/**
 * Rendered answers by name, of at most `maxBytes` together; the least recently used ones go first. A name must tell everything that an
 * answer depends on: the team, the version of its list, the path, the parameters and the encoding. So an answer never becomes wrong:
 * a change gives the list another version, and nobody asks for the old name again. `respond.ts` decides when one is served.
 */
export class AnswerCache {
  readonly #kept: LRUCache<string, Answer> | undefined
  readonly #making = new Map<string, Making>()
  readonly #lookups: Counter<'result'>

  /** With `maxBytes` 0, nothing is kept and nothing is shared. */
  constructor(maxBytes: number, registry: Registry) {
    if (maxBytes > 0)
      this.#kept = new LRUCache({
        maxSize: maxBytes,
        maxEntrySize: Math.ceil(maxBytes * maxPartOfCache),
        // A character of a name takes one byte.
        sizeCalculation: ({ body }, name) => body.length + name.length + entryBytes,
      })
    const { counter, gauge } = metricsIn(registry)
    const lookups = 'Answers that were kept (hit), made for another request at the same time (shared), or made (miss)'
    this.#lookups = counter('tidemark_http_answer_cache_lookups_total', lookups, ['result'])
    for (const result of ['hit', 'shared', 'miss'] satisfies Found[]) this.#lookups.inc({ result }, 0)
    const bytes = 'What cached answers take of ANSWER_CACHE_BYTES'
    gauge('tidemark_http_answer_cache_bytes', bytes, () => this.#kept?.calculatedSize ?? 0)
  }

  get(name: string): Answer | undefined {
    const kept = this.#kept?.get(name)
    if (kept !== undefined) this.#lookups.inc({ result: 'hit' })
    return kept
  }

  /** Makes an answer and keeps it, once for all who ask for it at the same time. Rejects with the error of `make`. */
  async make(name: string, make: () => Promise<Answer>, isAbandoned: () => boolean): Promise<Answer> {
    if (this.#kept === undefined) return await this.#count('miss', make())
    for (let making = this.#making.get(name); making !== undefined; making = this.#making.get(name)) {
      try {
        return await this.#count('shared', making.answer)
      } catch (error) {
        // The query of a client that has disconnected is aborted, which is no answer to the others.
        if (!making.isAbandoned()) throw error
      }
    }
    const answer = make().finally(() => this.#making.delete(name))
    this.#making.set(name, { answer, isAbandoned })
    const made = await this.#count('miss', answer)
    // A buffer of its own: the body may be a small part of a large one, all of which it would hold in memory.
    this.#kept.set(name, { ...made, body: Buffer.from(new Uint8Array(made.body).buffer) })
    return made
  }

  async #count(result: Found, answer: Promise<Answer>): Promise<Answer> {
    const found = await answer
    this.#lookups.inc({ result })
    return found
  }
}
