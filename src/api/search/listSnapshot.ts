import { z } from 'zod'
import type { EntityId, TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { type Clause, countOnly, deletedOfTeam, newestFirst, ofTeam, oldestFirst } from './clauses.ts'
import { createdBetween, type KeyRange, type ListCounts } from './findPage.ts'
import { type Deletions, readAnswer, readDeletions, readIds, readWeights, type SearchAnswer, totalOf } from './hits.ts'
import { anyAtAll, bytesOf, largeOf } from './largeParts.ts'
import { ElasticsearchUnavailable, type SearchClient, teamShard } from './searchClient.ts'
import { multiSearch } from './searches.ts'

/** A team's list at one moment: every search of the snapshot sees the same refresh, whatever is written meanwhile. */
export type ListSnapshot = {
  /** Counts the rows that match a filter. */
  countsOf(filter: readonly Clause[], signal: AbortSignal): ListCounts
  /** Up to `limit` rows of a range that match a filter, each a `summary` as raw bytes. */
  rows(filter: readonly Clause[], range: KeyRange, limit: number, signal: AbortSignal): Promise<readonly Buffer[]>
  /** The ids of the same rows, without reading any document. */
  ids(filter: readonly Clause[], range: KeyRange, limit: number, signal: AbortSignal): Promise<readonly EntityId[]>
  /** Whether the list has any large row. */
  hasLarge(signal: AbortSignal): Promise<boolean>
  /** At most how many bytes each of the same rows has, without reading any document. */
  weights(filter: readonly Clause[], range: KeyRange, limit: number, signal: AbortSignal): Promise<readonly number[]>
  /** The same rows, with the counts of matching rows in total and before the range, in one request. */
  survey(filter: readonly Clause[], range: KeyRange, limit: number, signal: AbortSignal): Promise<Survey>
  /**
   * Up to `limit` deleted entities whose tombstones match a filter, those after the place `after`, in no particular order. Only the first
   * request, without `after`, tells their exact `total`.
   */
  deletions(
    filter: readonly Clause[],
    after: number | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<Deletions & { readonly total: number | undefined }>
  /** Closes the point in time; Elasticsearch closes it after `keep_alive` otherwise. */
  close(): void
}

type Survey = {
  readonly total: number
  readonly before: number
  readonly rows: readonly Buffer[]
}

const openingDeadlineMs = 5_000
const closingDeadlineMs = 5_000

const stepsSchema = z.object({
  steps: z.object({ buckets: z.array(z.object({ key: z.int(), doc_count: z.int() })) }),
})
const eachSchema = z.object({ each: z.object({ buckets: z.array(z.object({ doc_count: z.int() })) }) })

/** The characters of ids in descending sort order of Elasticsearch. */
const idCharacters = [...'zyxwvutsrqponmlkjihgfedcba_ZYXWVUTSRQPONMLKJIHGFEDCBA:9876543210.-']
const positionBegins = (prefix: string): Clause => ({ prefix: { position: prefix } })

/**
 * Tracks the total on purpose: a point in time does not use the index sort, and without a total Elasticsearch tries to skip
 * non-competitive hits, which takes longer than collecting all rows of a range.
 */
const rowsOf = ({ skip }: KeyRange, limit: number) => ({
  sort: newestFirst,
  from: skip,
  size: limit,
  track_total_hits: true,
})

/** Makes a search return its hits without reading stored documents: only their sort values. */
const noDocuments = { _source: false, stored_fields: '_none_' }

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
  const snapshot = new PointInTime(client, kind, teamId, { id, keep_alive: keepAlive })
  // The opening request is not aborted with the caller: without its response the id to close would be lost.
  if (signal.aborted) {
    snapshot.close()
    throw new ElasticsearchUnavailable('deadline', 'the caller aborted while the snapshot was opened')
  }
  return snapshot
}

type Body = Readonly<Record<string, unknown>>

class PointInTime implements ListSnapshot {
  readonly #client: SearchClient
  readonly #kind: EntityType
  readonly #teamId: TeamId
  /** Each response may carry a new id. */
  #pit: { readonly id: string; readonly keep_alive: string }

  constructor(client: SearchClient, kind: EntityType, teamId: TeamId, pit: { id: string; keep_alive: string }) {
    this.#client = client
    this.#kind = kind
    this.#teamId = teamId
    this.#pit = pit
  }

  countsOf(filter: readonly Clause[], signal: AbortSignal): ListCounts {
    return {
      countByTime: async (span, stepMs) => {
        const within = span === undefined ? [] : [createdBetween(span.fromMs, span.toMs)]
        const fixed_interval = `${stepMs}ms`
        const date_histogram = { field: 'createdAt', fixed_interval, min_doc_count: 1, order: { _key: 'desc' } }
        const body = { size: 0, aggs: { steps: { date_histogram } } }
        const { aggregations } = await this.#search([...filter, ...within], body, signal)
        const { buckets } = stepsSchema.parse(aggregations).steps
        return buckets.map(({ key, doc_count }) => ({ startMs: key, count: doc_count }))
      },
      countByCharacter: async (prefix) => {
        const each = idCharacters.map((character) => positionBegins(prefix + character))
        const filters = [...each, { term: { position: prefix } }]
        const body = { size: 0, aggs: { each: { filters: { filters } } } }
        const { aggregations } = await this.#search(filter, body, signal)
        const { buckets } = eachSchema.parse(aggregations).each
        // An id sorts before all longer ids that begin with it, so in descending order it comes last.
        const steps = buckets.map(({ doc_count }, at) => ({ character: idCharacters[at], count: doc_count }))
        return steps.filter(({ count }) => count > 0)
      },
      idsBeginWith: async (prefix) => {
        const clauses = [...filter, positionBegins(prefix)]
        const ends = [newestFirst, oldestFirst].map(async (sort) => {
          const body = this.#body(clauses, { sort, size: 1, track_total_hits: true, ...noDocuments })
          return (await this.#read(body, readIds, signal)).ids
        })
        return commonPrefix((await Promise.all(ends)).flat())
      },
    }
  }

  async rows(
    filter: readonly Clause[],
    range: KeyRange,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly Buffer[]> {
    return (await this.#search([...filter, range.clause], rowsOf(range, limit), signal)).summaries
  }

  async ids(
    filter: readonly Clause[],
    range: KeyRange,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly EntityId[]> {
    const body = this.#body([...filter, range.clause], { ...rowsOf(range, limit), ...noDocuments })
    return (await this.#read(body, readIds, signal)).ids
  }

  async hasLarge(signal: AbortSignal): Promise<boolean> {
    const body = { pit: this.#pit, query: largeOf(this.#teamId, 'summary'), ...anyAtAll }
    return totalOf(await this.#read(body, readAnswer, signal)) > 0
  }

  async weights(
    filter: readonly Clause[],
    range: KeyRange,
    limit: number,
    signal: AbortSignal,
  ): Promise<readonly number[]> {
    const asked = { ...rowsOf(range, limit), ...noDocuments, docvalue_fields: [{ field: bytesOf('summary') }] }
    const body = this.#body([...filter, range.clause], asked)
    const { weights } = await this.#read(body, (bytes) => readWeights(bytes, 'summary'), signal)
    return weights.map(({ bytes }) => bytes)
  }

  async deletions(
    filter: readonly Clause[],
    after: number | undefined,
    limit: number,
    signal: AbortSignal,
  ): Promise<Deletions & { readonly total: number | undefined }> {
    const body = {
      pit: this.#pit,
      query: deletedOfTeam(this.#teamId, filter),
      sort: ['_shard_doc'],
      ...(after !== undefined && { search_after: [after] }),
      size: limit,
      _source: false,
      track_total_hits: after === undefined,
    }
    return await this.#read(body, readDeletions, signal)
  }

  async survey(filter: readonly Clause[], range: KeyRange, limit: number, signal: AbortSignal): Promise<Survey> {
    const part = (clauses: readonly Clause[], more: Body) => ({
      header: {},
      body: this.#body([...filter, ...clauses], more),
    })
    const answers = await multiSearch(
      this.#client,
      [part([], countOnly), part([range.newer], countOnly), part([range.clause], rowsOf(range, limit))],
      'missing-snapshot',
      signal,
    )
    for (const answer of answers) this.#updateId(answer)
    const [all, newer, found] = answers
    return { total: totalOf(all), before: totalOf(newer), rows: found.summaries }
  }

  close(): void {
    const body = { id: this.#pit.id }
    this.#client
      .send({ method: 'DELETE', path: '/_pit', querystring: {}, body }, AbortSignal.timeout(closingDeadlineMs))
      .catch(() => undefined)
  }

  #search(filter: readonly Clause[], more: Body, signal: AbortSignal): Promise<SearchAnswer> {
    return this.#read(this.#body(filter, more), readAnswer, signal)
  }

  async #read<Answer extends Pick<SearchAnswer, 'snapshotId'>>(
    body: Body,
    read: (bytes: Buffer) => Answer,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { isFound, bytes } = await this.#client.send(
      { method: 'POST', path: '/_search', querystring: {}, body },
      signal,
    )
    if (!isFound) throw new ElasticsearchUnavailable('missing-snapshot', this.#kind)
    const answer = read(bytes)
    this.#updateId(answer)
    return answer
  }

  #body(filter: readonly Clause[], more: Body): Body {
    return { pit: this.#pit, query: ofTeam(this.#teamId, filter), track_total_hits: false, ...more }
  }

  #updateId({ snapshotId }: Pick<SearchAnswer, 'snapshotId'>): void {
    if (snapshotId !== undefined) this.#pit = { ...this.#pit, id: snapshotId }
  }
}

function commonPrefix([first = '', ...others]: readonly string[]): string {
  let length = first.length
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--
  return first.slice(0, length)
}
