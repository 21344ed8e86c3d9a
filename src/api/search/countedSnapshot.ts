import { LRUCache } from 'lru-cache'
import type { Clause } from './clauses.ts'
import { findPage, type ListCounts, type PagePosition } from './findPage.ts'
import type { ListSnapshot } from './listSnapshot.ts'
import { LargePage, maxPageBytes } from './page.ts'

/** What of a snapshot is counted. */
export type CountableSnapshot = Pick<ListSnapshot, 'countsOf' | 'rows' | 'survey' | 'hasLarge' | 'weights'>

/** A range of rows of a list; the first row has offset 0. */
type RowRange = { readonly offset: number; readonly limit: number }
/** The number of rows that match a filter, and the rows of the range as raw bytes. */
type RowsFound = { readonly total: number; readonly rows: readonly Buffer[] }

type Counted = Awaited<ReturnType<ListCounts[keyof ListCounts]>>
/** The snapshot in which a list was counted last. `drift`: by how many rows its pages have moved down since, as last observed. */
type Baseline = { readonly snapshot: string; readonly drift: number }

/** A cache of the counts of several snapshots. */
type CountCache = {
  readonly counts: LRUCache<string, Counted>
  readonly baselines: LRUCache<string, Baseline>
}

/** The estimated size of one cached count; a character of its key takes two bytes. */
const bytesPerCount = 64
const maxBaselines = 1_000
/** A page is found at the first try if no more rows than this were added or removed before it since the last observation. */
const spareRows = 10

/** Creates a cache of about so many bytes. */
export const createCountCache = (maxBytes: number): CountCache => ({
  counts: new LRUCache({
    maxSize: maxBytes,
    sizeCalculation: (counted, question) => 2 * question.length + bytesPerCount * (counted.length + 1),
  }),
  baselines: new LRUCache({ max: maxBaselines }),
})

/**
 * A snapshot whose counts are cached. It reads rows at any offset without skipping those before. A list that has changed differs little
 * from its last snapshot: the older counts predict where a page begins, and one request to the new snapshot reads the rows there with
 * the counts that confirm or refute the prediction.
 */
export class CountedSnapshot {
  readonly #snapshot: CountableSnapshot
  readonly #cache: CountCache
  readonly #name: string
  readonly #list: string
  #hasLarge: boolean | undefined

  /** `name` is the key of the snapshot in the cache, `list` the key of the list. */
  constructor(snapshot: CountableSnapshot, cache: CountCache, { name, list }: { name: string; list: string }) {
    this.#snapshot = snapshot
    this.#cache = cache
    this.#name = name
    this.#list = list
  }

  /** Whether the list has any large row. */
  async hasLarge(signal: AbortSignal): Promise<boolean> {
    this.#hasLarge ??= await this.#snapshot.hasLarge(signal)
    return this.#hasLarge
  }

  /** At most how many bytes each row of the range has. */
  async weights(filter: readonly Clause[], rows: RowRange, signal: AbortSignal): Promise<readonly number[]> {
    const { range } = await this.locate(filter, rows, signal)
    return range === undefined ? [] : await this.#snapshot.weights(filter, range, rows.limit, signal)
  }

  /** The rows of the range that match the filter, and how many match it in all. Throws `LargePage`. */
  async page(filter: readonly Clause[], rows: RowRange, signal: AbortSignal): Promise<RowsFound> {
    if (await this.hasLarge(signal)) await this.#refuseLarge(filter, rows, signal)
    const known = await findInCache(this.#cache, this.#name, filter, rows)
    const predicted = known === undefined ? await this.#readByPrediction(filter, rows, signal) : undefined
    if (predicted !== undefined) return predicted
    const { total, range } = known ?? (await this.locate(filter, rows, signal))
    this.#cache.baselines.set(this.#baselineOf(filter), { snapshot: this.#name, drift: 0 })
    return { total, rows: range === undefined ? [] : await this.#snapshot.rows(filter, range, rows.limit, signal) }
  }

  /** Where the rows are, and how many match the filter in all. */
  locate(filter: readonly Clause[], { offset, limit }: RowRange, signal: AbortSignal): Promise<PagePosition> {
    return findPage(cached(this.#cache, this.#name, filter, this.#snapshot.countsOf(filter, signal)), offset, limit)
  }

  async #refuseLarge(filter: readonly Clause[], rows: RowRange, signal: AbortSignal): Promise<void> {
    const weights = await this.weights(filter, rows, signal)
    if (weights.reduce((sum, each) => sum + each, 0) > maxPageBytes) throw new LargePage()
  }

  /** The first attempt measures how many rows were added or removed; the second one applies that. */
  async #readByPrediction(
    filter: readonly Clause[],
    range: RowRange,
    signal: AbortSignal,
  ): Promise<RowsFound | undefined> {
    let found = await this.#readPredicted(filter, range, signal)
    if (found === 'mispredicted') found = await this.#readPredicted(filter, range, signal)
    return typeof found === 'string' ? undefined : found
  }

  /** Reads where the older counts predict the rows, and corrects the prediction by the counts found there. */
  async #readPredicted(
    filter: readonly Clause[],
    { offset, limit }: RowRange,
    signal: AbortSignal,
  ): Promise<RowsFound | 'mispredicted' | 'no-prediction'> {
    const name = this.#baselineOf(filter)
    const baseline = this.#cache.baselines.get(name)
    // This snapshot's own counts were tried before; counting the rest costs less than a prediction.
    if (baseline === undefined || baseline.snapshot === this.#name) return 'no-prediction'
    const size = limit + 2 * spareRows
    const start = Math.max(0, offset - baseline.drift - spareRows)
    const { range } = (await findInCache(this.#cache, baseline.snapshot, filter, { offset: start, limit: size })) ?? {}
    if (range === undefined) return 'no-prediction'
    const { total, before, rows } = await this.#snapshot.survey(filter, range, size, signal)
    const first = before + range.skip
    const end = Math.min(offset + limit, total)
    this.#cache.baselines.set(name, { ...baseline, drift: first - start })
    if (offset >= end) return { total, rows: [] }
    if (offset < first || end > first + rows.length) return 'mispredicted'
    return { total, rows: rows.slice(offset - first, end - first) }
  }

  #baselineOf(filter: readonly Clause[]): string {
    return JSON.stringify([this.#list, filter])
  }
}

/** The counts of the snapshot `name`: from the cache, or from `source` and then cached. */
function cached({ counts }: CountCache, name: string, filter: readonly Clause[], source: ListCounts): ListCounts {
  const once = async <C extends Counted>(question: readonly unknown[], count: () => Promise<C>): Promise<C> => {
    const key = JSON.stringify([name, filter, ...question])
    const known = counts.get(key)
    if (known !== undefined) return known as C
    const counted = await count()
    counts.set(key, counted)
    return counted
  }
  return {
    countByTime: (span, stepMs) => once([span, stepMs], () => source.countByTime(span, stepMs)),
    countByCharacter: (prefix) => once([prefix], () => source.countByCharacter(prefix)),
    idsBeginWith: (prefix) => once(['ids', prefix], () => source.idsBeginWith(prefix)),
  }
}

const notCached = new Error('not counted, or evicted')
const cacheOnly: ListCounts = {
  countByTime: () => Promise.reject(notCached),
  countByCharacter: () => Promise.reject(notCached),
  idsBeginWith: () => Promise.reject(notCached),
}

/** Finds a page by the cached counts of the snapshot `name` alone; undefined if they do not suffice. */
async function findInCache(
  cache: CountCache,
  name: string,
  filter: readonly Clause[],
  { offset, limit }: RowRange,
): Promise<PagePosition | undefined> {
  try {
    return await findPage(cached(cache, name, filter, cacheOnly), offset, limit)
  } catch (error) {
    if (error === notCached) return undefined
    throw error
  }
}
