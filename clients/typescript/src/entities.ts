import type { Connection } from './connection.ts'
import { Export } from './export.ts'
import { queryOf } from './query.ts'
import { type RetryPolicy, retrying } from './retries.ts'
import type { FieldsOf, FiltersOf, Items, List, Page, PageParameters, RequestOptions, Selected, View } from './types.ts'

/** What is used by all requests of a client. */
export interface Deps {
  readonly connection: Connection
  readonly retries: RetryPolicy
}

const maxLimit = 100

/** The forms or submissions of the team. Each method rejects with a `TidemarkError`. */
export class Entities<L extends List> {
  readonly #deps: Deps
  readonly #path: string

  constructor(deps: Deps, list: L) {
    this.#deps = deps
    this.#path = `/${list}`
  }

  /** One page, newest first; a page past the last one has no items. */
  list<const Fields extends FieldsOf<Items[L]['summary']> = undefined>(
    parameters: FiltersOf[L] & PageParameters & { readonly fields?: Fields | undefined } = {},
    { signal }: RequestOptions = {},
  ): Promise<Page<Selected<Items[L]['summary'], Fields>>> {
    return this.#page(parameters, signal)
  }

  /**
   * The items of all pages. Other than an export, it is not of one moment: an item that moves between pages while they are read may be missed or come
   * twice.
   */
  async *iterate<const Fields extends FieldsOf<Items[L]['summary']> = undefined>(
    parameters: FiltersOf[L] & { readonly limit?: number | undefined; readonly fields?: Fields | undefined } = {},
    { signal }: RequestOptions = {},
  ): AsyncGenerator<Selected<Items[L]['summary'], Fields>, void, undefined> {
    const { limit = maxLimit } = parameters
    for (let page = 1; ; page++) {
      const { items, totalDocs } = await this.#page<Selected<Items[L]['summary'], Fields>>(
        { ...parameters, limit, page },
        signal,
      )
      yield* items
      if (items.length === 0 || page * limit >= totalDocs) return
    }
  }

  /** One item. Rejects with a `NotFoundError` if the team has nothing under this id. */
  get<
    const Fields extends FieldsOf<Items[L]['full']> = undefined,
    const WithFields extends boolean | undefined = undefined,
    const WithReport extends boolean | undefined = undefined,
  >(
    id: string,
    parameters: PartsOf<WithFields, WithReport>[L] & { readonly fields?: Fields | undefined } = {},
    { signal }: RequestOptions = {},
  ): Promise<WithParts<Selected<Items[L]['full'], Fields>, WithFields, WithReport>> {
    const path = `${this.#path}/${encodeURIComponent(id)}`
    return this.#json(path, parameters, signal, () => true)
  }

  /** All items that match, of one moment, as a stream. */
  export<V extends View = 'summary', const Fields extends FieldsOf<Items[L][V]> = undefined>(
    parameters: FiltersOf[L] & { readonly view?: V | undefined; readonly fields?: Fields | undefined } = {},
    { signal }: RequestOptions = {},
  ): Export<Selected<Items[L][V], Fields>> {
    const { connection, retries } = this.#deps
    const request = { path: this.#path, query: queryOf(parameters), accept: 'application/x-ndjson', signal }
    return new Export(() => retrying(() => connection.open(request), retries, signal))
  }

  #page<Item>(parameters: object, signal: AbortSignal | undefined): Promise<Page<Item>> {
    return this.#json(this.#path, parameters, signal, ({ items }) => Array.isArray(items))
  }

  async #json<T extends object>(
    path: string,
    parameters: object,
    signal: AbortSignal | undefined,
    isWhole: (value: Readonly<Record<string, unknown>>) => boolean,
  ): Promise<T> {
    const { connection, retries } = this.#deps
    const request = { path, query: queryOf(parameters), signal }
    const { value } = await retrying(() => connection.json<T>(request, isWhole), retries, signal)
    return value
  }
}

/** Parameters that leave out parts of a single item. */
export interface PartsOf<WithFields extends boolean | undefined, WithReport extends boolean | undefined> {
  readonly forms: { readonly includeFields?: WithFields; readonly includeReport?: WithReport }
  readonly records: unknown
}

/** `T`, of which `fields` and `report` may be left out. */
type WithParts<T, WithFields, WithReport> = WithPart<WithPart<T, WithFields, 'fields'>, WithReport, 'report'>
type WithPart<T, Asked, Name extends string> = false extends Asked
  ? Omit<T, Name> & Partial<Pick<T, Name & keyof T>>
  : T
