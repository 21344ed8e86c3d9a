import type { WindowBound } from '../domain/instant.ts'
import { aliasOf } from '../replica/indices.ts'
import { type Clause, newestFirst } from './clauses.ts'
import { findPage } from './deepPage.ts'
import { readAnswer, totalOf } from './hits.ts'
import type { ListReader } from './keptSnapshots.ts'
import type { ListKind } from './listSnapshot.ts'
import type { Page, PageRequest } from './page.ts'
import type { Replica } from './replica.ts'
import { ReplicaUnavailable } from './unavailable.ts'

/** Both ends belong to the window; an end that is not given is open. */
export type Window = {
  readonly since?: WindowBound | undefined
  readonly until?: WindowBound | undefined
}

/**
 * One page of a team's list, newest first, with the exact total. A page past the last one is empty. A page that begins at the
 * offset `deepPageFrom` or later is found in a snapshot, without passing over the rows before it.
 * Rejects with `ReplicaUnavailable`.
 */
export const searchPage = (
  replica: Replica,
  kind: ListKind,
  reader: ListReader,
  filter: readonly Clause[],
  wanted: PageRequest,
): Promise<Page> =>
  firstOf(wanted) < replica.deepPageFrom
    ? shallowPage(replica, kind, reader, filter, wanted)
    : deepPage(replica, kind, reader, filter, wanted)

const firstOf = ({ page, limit }: PageRequest): number => (page - 1) * limit

async function shallowPage(
  { indexPrefix, ask }: Replica,
  kind: ListKind,
  { teamId, signal }: ListReader,
  filter: readonly Clause[],
  wanted: PageRequest,
): Promise<Page> {
  const query = { bool: { filter: [{ term: { teamId } }, ...filter] } }
  const { isFound, text } = await ask(
    {
      method: 'POST',
      path: `/${aliasOf(indexPrefix, kind)}/_search`,
      querystring: { routing: teamId, allow_partial_search_results: false },
      body: { query, sort: newestFirst, track_total_hits: true, from: firstOf(wanted), size: wanted.limit },
    },
    signal,
  )
  if (!isFound) throw new ReplicaUnavailable('missing-index', kind)
  const answer = readAnswer(text)
  return { ...wanted, totalDocs: totalOf(answer), items: answer.summaries }
}

const deepPage = (
  { readSnapshot }: Replica,
  kind: ListKind,
  reader: ListReader,
  filter: readonly Clause[],
  wanted: PageRequest,
): Promise<Page> =>
  readSnapshot(kind, reader, async ({ countsOf, rows }) => {
    const { signal } = reader
    const { total, stretch } = await findPage(countsOf(filter, signal), firstOf(wanted), wanted.limit)
    const items = stretch === undefined ? [] : await rows(filter, stretch, wanted.limit, signal)
    return { ...wanted, totalDocs: total, items }
  })

/** The clauses that a window on a date field needs: none when it is open at both ends. */
export function within(field: 'createdAt' | 'changedAt', { since, until }: Window): Clause[] {
  if (since === 'beyond-all' || until === 'beyond-all') return [{ match_none: {} }]
  if (since === undefined && until === undefined) return []
  const bounds = { ...(since !== undefined && { gte: since }), ...(until !== undefined && { lte: until }) }
  return [{ range: { [field]: bounds } }]
}

/** The clause that a filter on one value needs: none when it is not given. */
export const equalTo = (field: 'scene' | 'formId' | 'status', value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]
