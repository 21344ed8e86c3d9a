import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import {
  anyAtAll,
  type Clause,
  createdWithin,
  type Filter,
  keysOnly,
  largeOf,
  newestFirst,
  ofTeam,
  oldestFirst,
  type TimeSpan,
} from './clauses.ts'
import * as hits from './hits.ts'
import { askShard, ElasticsearchUnavailable, type RunQuery, type SearchedList } from './searchClient.ts'

/** Timeout for opening a snapshot, and for closing it. */
const deadlineMs = 5_000

/** A range of sort keys that contains a page: the page begins `skip` rows after the newest row that matches `clause`. */
export type KeyRange = { readonly clause: Clause; readonly skip: number }

/** A team's list in a point in time: every search sees the same refresh, whatever is written meanwhile. */
export type ListSnapshot = ReturnType<typeof listSnapshot>

const openedSchema = z.object({ id: z.string() })

/**
 * Opens a snapshot (a point in time) that Elasticsearch keeps for `lifeMs` after its last search. Takes no signal: an aborted request
 * would lose the id that is needed to close it.
 */
export async function openListSnapshot(list: SearchedList, lifeMs: number): Promise<ListSnapshot> {
  const keep_alive = `${lifeMs}ms`
  const opening = AbortSignal.timeout(deadlineMs)
  const bytes = await askShard(list, list.type, { api: '_pit', querystring: { keep_alive } }, opening)
  const { id } = hits.parseWith(openedSchema, hits.parse(bytes.toString()))
  return listSnapshot(list, { id, keep_alive })
}

type OpenedPointInTime = { readonly id: string; readonly keep_alive: string }

/** Searches a point in time of Elasticsearch, by whichever id the last response gave it. */
function pointInTime(list: SearchedList, opened: OpenedPointInTime) {
  let pit = opened
  const send = async (body: hits.SearchBody, signal: AbortSignal): Promise<hits.SearchAnswer> => {
    // Else a snapshot whose node has left counts as an outage, not as missing.
    const querystring = { allow_partial_search_results: false }
    const request = { method: 'POST', path: '/_search', querystring, body: { pit, ...body } } as const
    const { isFound, bytes } = await list.send(request, signal)
    if (!isFound) throw new ElasticsearchUnavailable('missing-snapshot', list.type)
    const answer = hits.readAnswer(bytes)
    // Each response may carry a new id.
    pit = { ...pit, id: answer.pit_id ?? pit.id }
    return answer
  }
  const close = (): void => {
    const request = { method: 'DELETE', path: '/_pit', body: { id: pit.id } } as const
    list.send(request, AbortSignal.timeout(deadlineMs)).catch(() => undefined)
  }
  return { send, close }
}

function listSnapshot(list: SearchedList, opened: OpenedPointInTime) {
  const { teamId } = list
  const counted = countsOfSnapshot()
  const { send, close } = pointInTime(list, opened)
  const search = (filter: Filter, body: hits.SearchBody, signal: AbortSignal): Promise<hits.SearchAnswer> =>
    send({ query: ofTeam(teamId, filter), ...body }, signal)
  return {
    /** The counts of rows that match a filter, cached in the snapshot. */
    countsOf: (filter: Filter, runQuery: RunQuery): ListCounts =>
      listCounts(counted, JSON.stringify(filter), (clauses, body) =>
        runQuery((signal) => search([...filter, ...clauses], body, signal)),
      ),

    /** Asks for next to nothing: each question renews the life of a snapshot. */
    async renew(signal: AbortSignal): Promise<void> {
      await search([], anyAtAll, signal)
    },

    async hasLargeRows(signal: AbortSignal): Promise<boolean> {
      return hits.totalOf(await send({ query: largeOf(teamId, 'summary'), ...anyAtAll }, signal)) > 0
    },

    /** Up to `limit` rows of a range that match a filter, as raw summaries. */
    async rows(filter: Filter, { clause, skip }: KeyRange, limit: number, signal: AbortSignal) {
      return hits.rowsIn(await search([...filter, clause], { ...inOrder, from: skip, size: limit }, signal))
    },

    /** The keys of these rows, without reading stored documents. */
    async keys(filter: Filter, { clause, skip }: KeyRange, limit: number, signal: AbortSignal) {
      const body = { ...inOrder, ...keysOnly('summary'), from: skip, size: limit }
      return hits.keysIn(await search([...filter, clause], body, signal), 'summary')
    },

    /** The rows of keys, which must be newest first. */
    async rowsOf(keys: readonly hits.RowKey[], signal: AbortSignal): Promise<readonly Buffer[]> {
      const clause: Clause = { terms: { position: keys.map(({ position }) => position) } }
      return hits.allOf(keys.length, hits.rowsIn(await search([clause], { ...inOrder, size: keys.length }, signal)))
    },

    /** Closes the snapshot before `keep_alive` expires. Never throws. */
    close,
  }
}

/** With a total, because without one Elasticsearch tries to skip non-competitive hits, which takes longer in a snapshot. */
const inOrder = { sort: newestFirst, track_total_hits: true }

const bucketsSchema = z.object({
  counts: z.object({ buckets: z.array(z.object({ key: z.int().default(0), doc_count: z.int() })) }),
})

/** The characters of ids, descending as Elasticsearch sorts them. */
const idCharacters = [...'zyxwvutsrqponmlkjihgfedcba_ZYXWVUTSRQPONMLKJIHGFEDCBA:9876543210.-']
const positionBegins = (prefix: string): Clause => ({ prefix: { position: prefix } })

type Counted = string | readonly object[]

/** The estimated size of a cached count; a character of its cache key takes two bytes. */
const bytesPerCount = 64
/** A cache of counts in a snapshot, which the next page needs again. */
const countsOfSnapshot = () =>
  new LRUCache<string, Counted>({
    maxSize: 512 * 1024,
    sizeCalculation: (counts, question) => 2 * question.length + bytesPerCount * (counts.length + 1),
  })

export type ListCounts = ReturnType<typeof listCounts>

/** Counts one list in one snapshot by searches, cached in `counted` under `name`. */
function listCounts(
  counted: ReturnType<typeof countsOfSnapshot>,
  name: string,
  search: (clauses: Filter, body: hits.SearchBody) => Promise<hits.SearchAnswer>,
) {
  const once = async <C extends Counted>(question: unknown, count: () => Promise<C>): Promise<C> => {
    const key = name + JSON.stringify(question)
    const counts = (counted.get(key) as C | undefined) ?? (await count())
    counted.set(key, counts)
    return counts
  }
  const bucketsOf = async (clauses: Filter, counts: object) => {
    const answer = await search(clauses, { size: 0, track_total_hits: false, aggs: { counts } })
    return hits.aggregationsIn(bucketsSchema, answer).counts.buckets
  }
  return {
    /** Rows per `stepMs` of creation time within a span, newest first, without empty steps. */
    countByTime: (span: TimeSpan | undefined, stepMs: number) =>
      once([span, stepMs], async () => {
        const fixed_interval = `${stepMs}ms`
        const date_histogram = { field: 'createdAt', fixed_interval, min_doc_count: 1, order: { _key: 'desc' } }
        const buckets = await bucketsOf(span === undefined ? [] : [createdWithin(span)], { date_histogram })
        return buckets.map(({ key, doc_count }) => ({ startMs: key, count: doc_count }))
      }),
    /** Rows per next character of positions that begin with `prefix`, newest first, without empty steps; undefined where an id ends. */
    countByCharacter: (prefix: string) =>
      once(prefix, async () => {
        const filters = [...idCharacters.map((each) => positionBegins(prefix + each)), { term: { position: prefix } }]
        const buckets = await bucketsOf([], { filters: { filters } })
        // An id sorts before longer ids that begin with it, so it comes last in descending order.
        const steps = buckets.map(({ doc_count }, at) => ({ character: idCharacters[at], count: doc_count }))
        return steps.filter(({ count }) => count > 0)
      }),
    /** The longest common prefix of the ids of all rows (at least one) whose position begins with `prefix`. */
    idsBeginWith: (prefix: string) =>
      once(['ids', prefix], async () => {
        const ends = [newestFirst, oldestFirst].map((sort) =>
          search([positionBegins(prefix)], { ...inOrder, ...keysOnly('summary'), sort, size: 1 }),
        )
        const [newest, oldest] = (await Promise.all(ends)).flatMap((end) =>
          hits.keysIn(end, 'summary').map(({ id }) => id),
        )
        return commonPrefix(newest ?? '', oldest ?? '')
      }),
  }
}

const commonPrefix = (one: string, other: string): string =>
  other.startsWith(one) ? one : commonPrefix(one.slice(0, -1), other)
