import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import {
  type Clause,
  countAtMostOne,
  createdWithin,
  type Filter,
  keysOnly,
  largeRowsOf,
  newestFirst,
  ofTeam,
  oldestFirst,
  type TimeSpan,
} from './clauses.ts'
import * as hits from './hits.ts'
import type { RunQuery } from './queryTurns.ts'
import { ElasticsearchUnavailable, requestShard, type SearchedList } from './searchClient.ts'

/** For opening and closing. */
const deadlineMs = 5_000

/** A range of sort keys. A page begins `skip` rows after its newest row. */
export type KeyRange = { readonly clause: Clause; readonly skip: number }

/** A team's list in a point in time of Elasticsearch. Rows are newest first. */
export interface ListSnapshot {
  /** `runQuery` runs each search for counts that are not cached. */
  countsOf(filter: Filter, runQuery: RunQuery): ListCounts
  renew(signal: AbortSignal): Promise<void>
  hasLargeRows(signal: AbortSignal): Promise<boolean>
  rows(filter: Filter, range: KeyRange, limit: number, signal: AbortSignal): Promise<readonly Buffer[]>
  /** Reads no stored documents. */
  keys(filter: Filter, range: KeyRange, limit: number, signal: AbortSignal): Promise<readonly hits.RowKey[]>
  /** `keys` must be newest first, as the rows will be. */
  rowsOf(keys: readonly hits.RowKey[], signal: AbortSignal): Promise<readonly Buffer[]>
  /** Never throws. */
  close(): void
}

export interface ListCounts {
  /** By steps of `stepMs` of creation time; newest first, without zeros. `span` undefined: the whole list. */
  countByTime(
    span: TimeSpan | undefined,
    stepMs: number,
  ): Promise<readonly { readonly startMs: number; readonly count: number }[]>
  /**
   * Counts rows whose sort key (creation time, `|`, id) begins with `prefix` (at least creation time and `|`), by the next character; newest first,
   * without zeros. The character is undefined where the sort key ends.
   */
  countByCharacter(
    prefix: string,
  ): Promise<readonly { readonly character: string | undefined; readonly count: number }[]>
  /** The longest common prefix of the ids of the rows (at least one) whose sort key begins with `prefix`. */
  idsBeginWith(prefix: string): Promise<string>
}

const openedSchema = z.object({ id: z.string() })

/**
 * Opening cannot be aborted: the id of an opened point in time would be lost, so that nobody could close it. `lifeMs` counts from the last search.
 */
export async function openListSnapshot(list: SearchedList, lifeMs: number): Promise<ListSnapshot> {
  const keep_alive = `${lifeMs}ms`
  const deadline = AbortSignal.timeout(deadlineMs)
  const bytes = await requestShard(list, list.type, { api: '_pit', querystring: { keep_alive } }, deadline)
  const { id } = hits.parseWith(openedSchema, hits.parse(bytes.toString()))
  return listSnapshot(list, { id, keep_alive })
}

type OpenedPointInTime = { readonly id: string; readonly keep_alive: string }

/** Each response may contain a new id for the next search. */
function pointInTime(list: SearchedList, opened: OpenedPointInTime) {
  let pit = opened
  const send = async (body: hits.SearchBody, signal: AbortSignal): Promise<hits.SearchAnswer> => {
    // If the snapshot's node has left, this makes 404 instead of a partial result: a missing snapshot can be replaced.
    const querystring = { allow_partial_search_results: false }
    const request = { method: 'POST', path: '/_search', querystring, body: { pit, ...body } } as const
    const { isFound, bytes } = await list.send(request, signal)
    if (!isFound) throw new ElasticsearchUnavailable('missing-snapshot', list.type)
    const answer = hits.readAnswer(bytes)
    pit = { ...pit, id: answer.pit_id ?? pit.id }
    return answer
  }
  const close = (): void => {
    const request = { method: 'DELETE', path: '/_pit', body: { id: pit.id } } as const
    list.send(request, AbortSignal.timeout(deadlineMs)).catch(() => undefined)
  }
  return { send, close }
}

function listSnapshot(list: SearchedList, opened: OpenedPointInTime): ListSnapshot {
  const { teamId } = list
  const countCache = createCountCache()
  const { send, close } = pointInTime(list, opened)
  const search = (filter: Filter, body: hits.SearchBody, signal: AbortSignal): Promise<hits.SearchAnswer> =>
    send({ query: ofTeam(teamId, filter), ...body }, signal)
  return {
    countsOf: (filter, runQuery) =>
      listCounts(countCache, JSON.stringify(filter), (clauses, body) =>
        runQuery((signal) => search([...filter, ...clauses], body, signal)),
      ),

    async renew(signal) {
      await search([], countAtMostOne, signal)
    },

    async hasLargeRows(signal) {
      return hits.totalOf(await send({ query: largeRowsOf(teamId, 'summary'), ...countAtMostOne }, signal)) > 0
    },

    async rows(filter, { clause, skip }, limit, signal) {
      return hits.rowsIn(await search([...filter, clause], { ...inOrder, from: skip, size: limit }, signal))
    },

    async keys(filter, { clause, skip }, limit, signal) {
      const body = { ...inOrder, ...keysOnly('summary'), from: skip, size: limit }
      return hits.keysIn(await search([...filter, clause], body, signal), 'summary')
    },

    async rowsOf(keys, signal) {
      const clause: Clause = { terms: { position: keys.map(({ position }) => position) } }
      return hits.expectCount(
        keys.length,
        hits.rowsIn(await search([clause], { ...inOrder, size: keys.length }, signal)),
      )
    },

    close,
  }
}

/** Nothing reads the total. Without it, Elasticsearch tries to skip non-competitive hits, which takes longer in a snapshot. */
const inOrder = { sort: newestFirst, track_total_hits: true }

const bucketsSchema = z.object({
  counts: z.object({ buckets: z.array(z.object({ key: z.int().default(0), doc_count: z.int() })) }),
})

/** All that ids may have, in Elasticsearch's descending order. */
const idCharacters = [...'zyxwvutsrqponmlkjihgfedcba_ZYXWVUTSRQPONMLKJIHGFEDCBA:9876543210.-']
const sortKeyBegins = (prefix: string): Clause => ({ prefix: { position: prefix } })

type CountResult = string | readonly object[]

const estimatedBytesPerCount = 64
/** Of a cache key. */
const bytesPerCharacter = 2
/** Cached, because the next page needs most counts again. */
type CountCache = LRUCache<string, CountResult>
const createCountCache = (): CountCache =>
  new LRUCache({
    maxSize: 512 * 1024,
    sizeCalculation: (counts, key) => bytesPerCharacter * key.length + estimatedBytesPerCount * (counts.length + 1),
  })

function listCounts(
  cache: CountCache,
  keyPrefix: string,
  search: (clauses: Filter, body: hits.SearchBody) => Promise<hits.SearchAnswer>,
): ListCounts {
  const cachedCounts = async <C extends CountResult>(parameters: unknown, count: () => Promise<C>): Promise<C> => {
    const key = keyPrefix + JSON.stringify(parameters)
    const counts = (cache.get(key) as C | undefined) ?? (await count())
    cache.set(key, counts)
    return counts
  }
  const bucketsOf = async (clauses: Filter, counts: object) => {
    const answer = await search(clauses, { size: 0, track_total_hits: false, aggs: { counts } })
    return hits.aggregationsIn(bucketsSchema, answer).counts.buckets
  }
  return {
    countByTime: (span, stepMs) =>
      cachedCounts([span, stepMs], async () => {
        const fixed_interval = `${stepMs}ms`
        const date_histogram = { field: 'createdAt', fixed_interval, min_doc_count: 1, order: { _key: 'desc' } }
        const buckets = await bucketsOf(span === undefined ? [] : [createdWithin(span)], { date_histogram })
        return buckets.map(({ key, doc_count }) => ({ startMs: key, count: doc_count }))
      }),
    countByCharacter: (prefix) =>
      cachedCounts(prefix, async () => {
        const filters = [...idCharacters.map((next) => sortKeyBegins(prefix + next)), { term: { position: prefix } }]
        const buckets = await bucketsOf([], { filters: { filters } })
        // The last filter, without a character, matches the sort key `prefix` itself, which comes after longer ones.
        const counts = buckets.map(({ doc_count }, index) => ({ character: idCharacters[index], count: doc_count }))
        return counts.filter(({ count }) => count > 0)
      }),
    idsBeginWith: (prefix) =>
      cachedCounts(['ids', prefix], async () => {
        // Ids are sorted: a prefix of the first and the last id is a prefix of all.
        const idOfFirst = async (sort: typeof newestFirst | typeof oldestFirst): Promise<string> => {
          const body = { ...inOrder, ...keysOnly('summary'), sort, size: 1 }
          const [key] = hits.keysIn(await search([sortKeyBegins(prefix)], body), 'summary')
          return key?.id ?? ''
        }
        const [newest, oldest] = await Promise.all([idOfFirst(newestFirst), idOfFirst(oldestFirst)])
        return commonPrefix(newest, oldest)
      }),
  }
}

const commonPrefix = (left: string, right: string): string =>
  right.startsWith(left) ? left : commonPrefix(left.slice(0, -1), right)
