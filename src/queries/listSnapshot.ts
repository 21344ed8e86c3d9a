import type { TeamId } from '../domain/identifiers.ts'
import { toInstant, withinInstants } from '../domain/instant.ts'
import { aliasOf } from '../replica/indices.ts'
import { type Clause, newestFirst } from './clauses.ts'
import type { ListSnapshot, PageStart } from './deepPage.ts'
import { readAggregations, readSummaries } from './hits.ts'
import type { Replica } from './replica.ts'
import { ReplicaUnavailable } from './unavailable.ts'

export type ListKind = 'forms' | 'submissions'

export type ReadableSnapshot = ListSnapshot & {
  /** The `summary` of up to `limit` rows, as raw text. */
  rows(start: PageStart, limit: number): Promise<string[]>
}

/** Longer than any request is answered. */
const keepAlive = '30s'

/**
 * Runs `read` on a snapshot of what a filter finds: all its questions are answered from the same refresh, whatever is written
 * meanwhile. Rejects with `ReplicaUnavailable`.
 */
export async function inSnapshot<T>(
  { indexPrefix, ask }: Replica,
  kind: ListKind,
  teamId: TeamId,
  filter: readonly Clause[],
  signal: AbortSignal,
  read: (snapshot: ReadableSnapshot) => Promise<T>,
): Promise<T> {
  const opened = await ask(
    {
      method: 'POST',
      path: `/${aliasOf(indexPrefix, kind)}/_pit`,
      querystring: { routing: teamId, keep_alive: keepAlive },
    },
    signal,
  )
  if (!opened.isFound) throw new ReplicaUnavailable('missing-index', kind)
  const { id } = JSON.parse(opened.text) as { id: string }
  const search = async (more: readonly Clause[], body: Readonly<Record<string, unknown>>): Promise<string> => {
    const query = { bool: { filter: [...filter, ...more] } }
    const pit = { id, keep_alive: keepAlive }
    const { isFound, text } = await ask(
      { method: 'POST', path: '/_search', querystring: {}, body: { pit, query, track_total_hits: false, ...body } },
      signal,
    )
    if (!isFound) throw new ReplicaUnavailable('missing-index', 'the snapshot is gone')
    return text
  }
  try {
    return await read({
      countByTime: async (span, stepMs) => {
        const within =
          span === undefined
            ? []
            : [{ range: { createdAt: { gte: instantOf(span.fromMs), lte: instantOf(span.toMs) } } }]
        const steps = {
          date_histogram: {
            field: 'createdAt',
            fixed_interval: `${stepMs}ms`,
            min_doc_count: 1,
            order: { _key: 'desc' },
          },
        }
        const found = readAggregations(await search(within, { size: 0, aggs: { steps } })) as {
          steps: { buckets: { key: number; doc_count: number }[] }
        }
        return found.steps.buckets.map(({ key, doc_count: count }) => ({ startMs: key, count }))
      },
      countEach: async (clauses) => {
        const each = { filters: { filters: clauses } }
        const found = readAggregations(await search([], { size: 0, aggs: { each } })) as {
          each: { buckets: { doc_count: number }[] }
        }
        return found.each.buckets.map(({ doc_count: count }) => count)
      },
      rows: async ({ clause, skip }, limit) =>
        readSummaries(await search([clause], { sort: newestFirst, from: skip, size: limit })),
    })
  } finally {
    // What is not closed closes itself.
    ask({ method: 'DELETE', path: '/_pit', querystring: {}, body: { id } }, AbortSignal.timeout(5_000)).catch(
      () => undefined,
    )
  }
}

/** A step of time may begin before the first instant there is. */
const instantOf = (epochMs: number): string => toInstant(withinInstants(epochMs))
