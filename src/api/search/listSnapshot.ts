import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import {
  anyAtAll,
  bytesOf,
  type Clause,
  deletedOfTeam,
  largeOf,
  newestFirst,
  noDocuments,
  ofTeam,
  oldestFirst,
} from './clauses.ts'
import { createdBetween, type KeyRange, type ListCounts } from './findPage.ts'
import { type RowKey, readAnswer, readDeletions, readKeys, type SearchAnswer, totalOf } from './hits.ts'
import { ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'

const openingDeadlineMs = 5_000
const closingDeadlineMs = 5_000

const stepsSchema = z.object({
  steps: z.object({ buckets: z.array(z.object({ key: z.int(), doc_count: z.int() })) }),
})
const eachSchema = z.object({ each: z.object({ buckets: z.array(z.object({ doc_count: z.int() })) }) })

/** The characters of ids in descending sort order of Elasticsearch. */
const idCharacters = [...'zyxwvutsrqponmlkjihgfedcba_ZYXWVUTSRQPONMLKJIHGFEDCBA:9876543210.-']
const positionBegins = (prefix: string): Clause => ({ prefix: { position: prefix } })

/** Where a search that is continued goes on: the sort values of its last hit, which Elasticsearch gave. */
export type SortValues = readonly unknown[]

type Counted = Awaited<ReturnType<ListCounts[keyof ListCounts]>>

/** The estimated size of one count; a character of its question takes two bytes. */
const bytesPerCount = 64
/** What was counted in snapshots of this process: the next page of one asks the same again. */
const counted = new LRUCache<string, Counted>({
  maxSize: 16 * 1024 * 1024,
  sizeCalculation: (counts, question) => 2 * question.length + bytesPerCount * (counts.length + 1),
})
let snapshots = 0

/**
 * Opens a snapshot (a point in time) that Elasticsearch keeps for `lifeMs` after its last search. Opening it and searching it
 * reject with `ElasticsearchUnavailable`.
 */
export async function openListSnapshot(
  client: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  { lifeMs, signal }: { readonly lifeMs: number; readonly signal: AbortSignal },
): Promise<ListSnapshot> {
  const keepAlive = `${lifeMs}ms`
  const path = `/${aliasOf(client.indexPrefix, kind)}/_pit`
  const { isFound, bytes } = await client.send(
    { method: 'POST', path, querystring: { ...teamShard(teamId), keep_alive: keepAlive } },
    AbortSignal.timeout(openingDeadlineMs),
  )
  if (!isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  const { id } = JSON.parse(bytes.toString()) as { id: string }
  const snapshot = new ListSnapshot(client, kind, teamId, { id, keep_alive: keepAlive })
  // The opening request is not aborted with the caller: without its response the id to close would be lost.
  if (signal.aborted) {
    snapshot.close()
    throw new ElasticsearchUnavailable('deadline', 'the caller aborted while the snapshot was opened')
  }
  return snapshot
}

type Body = Readonly<Record<string, unknown>>

const readSummaryKeys = (bytes: Buffer) => readKeys(bytes, 'summary')

/** A team's list at one moment: every search of the snapshot sees the same refresh, whatever is written meanwhile. */
export class ListSnapshot {
  readonly #client: SearchClient
  readonly #kind: EntityType
  readonly #teamId: TeamId
  readonly #number = ++snapshots
  /** Each response may carry a new id. */
  #pit: { readonly id: string; readonly keep_alive: string }
  #hasLarge: boolean | undefined

  constructor(client: SearchClient, kind: EntityType, teamId: TeamId, pit: { id: string; keep_alive: string }) {
    this.#client = client
    this.#kind = kind
    this.#teamId = teamId
    this.#pit = pit
  }

  /** Counts the rows that match a filter. */
  countsOf(filter: readonly Clause[], signal: AbortSignal): ListCounts {
    const once = async <C extends Counted>(question: unknown, count: () => Promise<C>): Promise<C> => {
      const name = JSON.stringify([this.#number, filter, question])
      const counts = (counted.get(name) as C | undefined) ?? (await count())
      counted.set(name, counts)
      return counts
    }
    const aggregate = async <T>(clauses: readonly Clause[], schema: z.ZodType<T>, aggs: object): Promise<T> => {
      const body = { size: 0, track_total_hits: false, aggs }
      return schema.parse((await this.#search([...filter, ...clauses], body, readAnswer, signal)).aggregations)
    }
    return {
      countByTime: (span, stepMs) =>
        once([span, stepMs], async () => {
          const within = span === undefined ? [] : [createdBetween(span.fromMs, span.toMs)]
          const fixed_interval = `${stepMs}ms`
          const date_histogram = { field: 'createdAt', fixed_interval, min_doc_count: 1, order: { _key: 'desc' } }
          const { steps } = await aggregate(within, stepsSchema, { steps: { date_histogram } })
          return steps.buckets.map(({ key, doc_count }) => ({ startMs: key, count: doc_count }))
        }),
      countByCharacter: (prefix) =>
        once(prefix, async () => {
          const filters = [...idCharacters.map((each) => positionBegins(prefix + each)), { term: { position: prefix } }]
          const { each } = await aggregate([], eachSchema, { each: { filters: { filters } } })
          // An id sorts before all longer ids that begin with it, so in descending order it comes last.
          const steps = each.buckets.map(({ doc_count }, at) => ({ character: idCharacters[at], count: doc_count }))
          return steps.filter(({ count }) => count > 0)
        }),
      idsBeginWith: (prefix) =>
        once(['ids', prefix], async () => {
          const ends = [newestFirst, oldestFirst].map((sort) => {
            const body = { ...noDocuments, sort, size: 1, track_total_hits: true }
            return this.#search([...filter, positionBegins(prefix)], body, readSummaryKeys, signal)
          })
          return commonPrefix((await Promise.all(ends)).flatMap(({ keys }) => keys).map(({ id }) => id))
        }),
    }
  }

  /** Whether the list has any large row. */
  async hasLarge(signal: AbortSignal): Promise<boolean> {
    const query = largeOf(this.#teamId, 'summary')
    this.#hasLarge ??= totalOf(await this.#send({ query, ...anyAtAll }, readAnswer, signal)) > 0
    return this.#hasLarge
  }

  /** Up to `limit` rows of a range that match a filter, each a `summary` as raw bytes. */
  async rows(
    filter: readonly Clause[],
    { clause, skip }: KeyRange,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Buffer[]> {
    const body = { ...inOrder, from: skip, size: limit }
    return (await this.#search([...filter, clause], body, readAnswer, signal)).summaries
  }

  /** The keys of the same rows, without reading any document, or of those after a row; with the number of all rows of the range. */
  async keys(
    filter: readonly Clause[],
    { clause, skip }: KeyRange,
    limit: number,
    signal: AbortSignal,
    after?: SortValues,
  ): Promise<{ readonly keys: readonly RowKey[]; readonly last: SortValues | undefined; readonly total: number }> {
    const body = {
      ...inOrder,
      ...noDocuments,
      ...((await this.hasLarge(signal)) && { docvalue_fields: [{ field: bytesOf('summary') }] }),
      ...(after === undefined ? { from: skip } : { search_after: after }),
      size: limit,
    }
    const found = await this.#search([...filter, clause], body, readSummaryKeys, signal)
    return { ...found, total: totalOf(found) }
  }

  /** The rows of these keys, newest first as they are. */
  async rowsOf(keys: readonly RowKey[], signal: AbortSignal): Promise<readonly Buffer[]> {
    const clause: Clause = { terms: { position: keys.map(({ position }) => position) } }
    const { summaries } = await this.#search([clause], { ...inOrder, size: keys.length }, readAnswer, signal)
    if (summaries.length === keys.length) return summaries
    throw new ElasticsearchUnavailable('partial', `${summaries.length} rows of ${keys.length}`)
  }

  /**
   * Up to `limit` deleted entities whose tombstones match a filter, those after the place `after`, in no particular order. Only the first
   * request, without `after`, tells their exact `total`.
   */
  async deletions(
    filter: readonly Clause[],
    after: number | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<ReturnType<typeof readDeletions>> {
    const body = {
      query: deletedOfTeam(this.#teamId, filter),
      sort: ['_shard_doc'],
      ...(after !== undefined && { search_after: [after] }),
      size: limit,
      _source: false,
      track_total_hits: after === undefined,
    }
    return await this.#send(body, readDeletions, signal)
  }

  /** Closes the point in time; Elasticsearch closes it after `keep_alive` otherwise. */
  close(): void {
    const body = { id: this.#pit.id }
    this.#client
      .send({ method: 'DELETE', path: '/_pit', querystring: {}, body }, AbortSignal.timeout(closingDeadlineMs))
      .catch(() => undefined)
  }

  #search<Answer extends Pick<SearchAnswer, 'snapshotId'>>(
    filter: readonly Clause[],
    body: Body,
    read: (bytes: Buffer) => Answer,
    signal: AbortSignal,
  ): Promise<Answer> {
    return this.#send({ query: ofTeam(this.#teamId, filter), ...body }, read, signal)
  }

  async #send<Answer extends Pick<SearchAnswer, 'snapshotId'>>(
    body: Body,
    read: (bytes: Buffer) => Answer,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { isFound, bytes } = await this.#client.send(
      { method: 'POST', path: '/_search', querystring: {}, body: { pit: this.#pit, ...body } },
      signal,
    )
    if (!isFound) throw new ElasticsearchUnavailable('missing-snapshot', this.#kind)
    const answer = read(bytes)
    if (answer.snapshotId !== undefined) this.#pit = { ...this.#pit, id: answer.snapshotId }
    return answer
  }
}

/**
 * Tracks the total on purpose: a point in time does not use the index sort, and without a total Elasticsearch tries to skip
 * non-competitive hits, which takes longer than collecting all rows of a range.
 */
const inOrder = { sort: newestFirst, track_total_hits: true }

function commonPrefix([first = '', ...others]: readonly string[]): string {
  let length = first.length
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--
  return first.slice(0, length)
}
