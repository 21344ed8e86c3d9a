import { Connection } from './connection.ts'
import { type Deps, Entities } from './entities.ts'
import type { Fetch } from './fetch.ts'
import { type Batch, type FollowOptions, follow } from './follow.ts'
import { queryOf } from './query.ts'
import { type Retry, retrying, type Sleep, sleep } from './retries.ts'
import type { CountParameters, Counts, FieldsOf, Items, List, RequestOptions, Selected, View } from './types.ts'

export interface TidemarkOptions {
  /** The URL of the API, such as `https://quiz.example/api/v1`. In a browser, it may be relative. */
  readonly baseUrl: string
  /** An account key of the team. Keep it out of pages and of version control. */
  readonly accountKey: string
  /** For how long an answer may send nothing; 30 by default. */
  readonly timeoutSeconds?: number | undefined
  /** The sum of all pauses after temporary failures of a request, before its error is thrown; 120 by default. `follow` without `once` retries for ever. */
  readonly retrySeconds?: number | undefined
  /** Called before each pause, such as to log it. */
  readonly onRetry?: ((retry: Retry) => void) | undefined
  /** Instead of the global `fetch`, such as one that uses a proxy. */
  readonly fetch?: Fetch | undefined
  /** Instead of real pauses, for tests. */
  readonly sleep?: Sleep | undefined
}

/** A client of the API, for one team. */
export class Tidemark {
  readonly forms: Entities<'forms'>
  readonly records: Entities<'records'>
  readonly #deps: Deps

  /** Throws a `TypeError` for a `baseUrl` or `accountKey` with which no request can be sent. */
  constructor(options: TidemarkOptions) {
    const { baseUrl, accountKey, timeoutSeconds = 30, retrySeconds = 120, onRetry } = options
    // Looked up with each request: a page or a test may have replaced it.
    const { fetch = (url, init) => globalThis.fetch(url, init) } = options
    this.#deps = {
      connection: new Connection({ baseUrl, accountKey, fetch, timeoutMs: timeoutSeconds * 1_000 }),
      retries: { sleep: options.sleep ?? sleep, onRetry, patienceMs: retrySeconds * 1_000 },
    }
    this.forms = new Entities(this.#deps, 'forms')
    this.records = new Entities(this.#deps, 'records')
  }

  /**
   * Yields what is new, changed or deleted since `cursor`; without a cursor everything, then changes. Ends when `signal` aborts or the loop is left; with
   * `once` when the copy is complete. Requests the next batch after the loop has handled the last one. Retries after network failures, incomplete answers,
   * 429 and 5xx. Throws permanent errors: a `BadRequestError` for a cursor of another team, list, `view` or `fields`, an `UnauthorizedError` for a revoked
   * key.
   */
  follow<L extends List, V extends View = 'summary', const Fields extends FieldsOf<Items[L][V]> = undefined>(
    list: L,
    options: FollowOptions<V, Fields> = {},
  ): AsyncGenerator<Batch<Selected<Items[L][V], Fields>>, void, undefined> {
    return follow<Selected<Items[L][V], Fields>>(this.#deps, list, options)
  }

  /** Counts submissions by hour, day, month, form, status, level, outcome, source, campaign or answer. */
  async counts<const Parameters extends CountParameters>(
    parameters: Parameters,
    { signal }: RequestOptions = {},
  ): Promise<Counts<Parameters>> {
    const { connection, retries } = this.#deps
    const request = { path: '/record-counts', query: queryOf(parameters), signal }
    const isWhole = ({ items }: { readonly items?: unknown }): boolean => Array.isArray(items)
    const { value } = await retrying(() => connection.json<Counts<Parameters>>(request, isWhole), retries, signal)
    return value
  }
}
