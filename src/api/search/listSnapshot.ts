import { z } from 'zod'
import type { TeamId } from '../../core/model/ids.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { type Clause, countOnly, newestFirst, ofTeam } from './clauses.ts'
import { createdBetween, type ListCounts, type Stretch } from './deepPage.ts'
import { readAnswer, type SearchAnswer, totalOf } from './hits.ts'
import { multiSearch } from './multiSearch.ts'
import type { SearchClient } from './searchClient.ts'
import { ElasticsearchUnavailable } from './searchClient.ts'

/** A team's list at one moment: every search of the snapshot sees the same refresh, whatever is written meanwhile. */
export type ListSnapshot = {
  /** Counts the rows that match a filter. */
  countsOf(filter: readonly Clause[], signal: AbortSignal): ListCounts
  /** Up to `limit` rows of a stretch that match a filter, each a `summary` as raw bytes. */
  rows(filter: readonly Clause[], stretch: Stretch, limit: number, signal: AbortSignal): Promise<readonly Buffer[]>
  /** The same rows, with the counts of matching rows in total and before the stretch, in one request. */
  survey(filter: readonly Clause[], stretch: Stretch, limit: number, signal: AbortSignal): Promise<Survey>
  /** Closes the point in time; Elasticsearch closes it after `keep_alive` otherwise. */
  close(): void
}

export type Survey = {
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

/**
 * Tracks the total on purpose: a point in time does not use the index sort, and without a total Elasticsearch tries to skip
 * non-competitive hits, which takes longer than collecting all rows of a stretch.
 */
const rowsOf = ({ skip }: Stretch, limit: number) => ({
  sort: newestFirst,
  from: skip,
  size: limit,
  track_total_hits: true,
})

/**
 * Opens a snapshot (a point in time) that Elasticsearch keeps for `lifeMs` after its last search. Opening it and searching it
 * reject with `ElasticsearchUnavailable`.
 */
export async function openListSnapshot(
  { indexPrefix, send }: SearchClient,
  kind: EntityType,
  teamId: TeamId,
  { lifeMs, signal: opening }: { readonly lifeMs: number; readonly signal: AbortSignal },
): Promise<ListSnapshot> {
  const keepAlive = `${lifeMs}ms`
  const opened = await send(
    {
      method: 'POST',
      path: `/${aliasOf(indexPrefix, kind)}/_pit`,
      querystring: { routing: teamId, keep_alive: keepAlive },
    },
    AbortSignal.timeout(openingDeadlineMs),
  )
  if (!opened.isFound) throw new ElasticsearchUnavailable('missing-index', kind)
  let { id } = JSON.parse(opened.bytes.toString()) as { id: string }
  const close = (): void => {
    send(
      { method: 'DELETE', path: '/_pit', querystring: {}, body: { id } },
      AbortSignal.timeout(closingDeadlineMs),
    ).catch(() => undefined)
  }
  // The opening request is not aborted with the caller: without its response the id to close would be lost.
  if (opening.aborted) {
    close()
    throw new ElasticsearchUnavailable('deadline', 'the caller aborted while the snapshot was opened')
  }
  type Body = Readonly<Record<string, unknown>>
  const bodyOf = (filter: readonly Clause[], more: Body): Body => ({
    pit: { id, keep_alive: keepAlive },
    query: ofTeam(teamId, filter),
    track_total_hits: false,
    ...more,
  })
  /** Each response may carry a new id for the point in time. */
  const updateId = ({ snapshotId }: SearchAnswer): void => {
    id = snapshotId ?? id
  }
  const search = async (filter: readonly Clause[], more: Body, signal: AbortSignal): Promise<SearchAnswer> => {
    const body = bodyOf(filter, more)
    const { isFound, bytes } = await send({ method: 'POST', path: '/_search', querystring: {}, body }, signal)
    if (!isFound) throw new ElasticsearchUnavailable('missing-snapshot', kind)
    const answer = readAnswer(bytes)
    updateId(answer)
    return answer
  }
  return {
    countsOf: (filter, signal) => ({
      countByTime: async (span, stepMs) => {
        const within = span === undefined ? [] : [createdBetween(span.fromMs, span.toMs)]
        const date_histogram = {
          field: 'createdAt',
          fixed_interval: `${stepMs}ms`,
          min_doc_count: 1,
          order: { _key: 'desc' },
        }
        const { aggregations } = await search(
          [...filter, ...within],
          { size: 0, aggs: { steps: { date_histogram } } },
          signal,
        )
        return stepsSchema.parse(aggregations).steps.buckets.map(({ key, doc_count }) => ({
          startMs: key,
          count: doc_count,
        }))
      },
      countEach: async (span, clauses) => {
        const each = { filters: { filters: clauses } }
        const within = createdBetween(span.fromMs, span.toMs)
        const { aggregations } = await search([...filter, within], { size: 0, aggs: { each } }, signal)
        return eachSchema.parse(aggregations).each.buckets.map(({ doc_count }) => doc_count)
      },
    }),
    rows: async (filter, stretch, limit, signal) =>
      (await search([...filter, stretch.clause], rowsOf(stretch, limit), signal)).summaries,
    survey: async (filter, stretch, limit, signal) => {
      const part = (clauses: readonly Clause[], more: Body) => ({
        header: {},
        body: bodyOf([...filter, ...clauses], more),
      })
      const answers = await multiSearch(
        { send },
        [part([], countOnly), part([stretch.newer], countOnly), part([stretch.clause], rowsOf(stretch, limit))],
        'missing-snapshot',
        signal,
      )
      for (const answer of answers) updateId(answer)
      const [all, newer, found] = answers
      return { total: totalOf(all), before: totalOf(newer), rows: found.summaries }
    },
    close,
  }
}
