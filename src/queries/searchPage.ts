import type { TeamId } from '../domain/identifiers.ts'
import type { Instant } from '../domain/instant.ts'
import { aliasOf } from '../replica/indices.ts'
import { type Clause, newestFirst } from './clauses.ts'
import { findPageStart } from './deepPage.ts'
import { readHits } from './hits.ts'
import { inSnapshot, type ListKind } from './listSnapshot.ts'
import type { Page, PageRequest } from './page.ts'
import type { Replica } from './replica.ts'
import { ReplicaUnavailable } from './unavailable.ts'

/** Both ends belong to the window; an end that is not given is open. */
export type Window = { readonly since?: Instant | undefined; readonly until?: Instant | undefined }

/**
 * One page of a team's list, newest first, with the exact total. A page past the last one is empty. A page that begins at the
 * offset `deepPageFrom` or later is found in a snapshot, without passing over the rows before it.
 * Rejects with `ReplicaUnavailable`.
 */
export async function searchPage(
  replica: Replica,
  kind: ListKind,
  teamId: TeamId,
  clauses: readonly Clause[],
  { page, limit }: PageRequest,
  signal: AbortSignal,
): Promise<Page> {
  const filter = [{ term: { teamId } }, ...clauses]
  const offset = (page - 1) * limit
  if (offset >= replica.deepPageFrom) {
    const { total, summaries } = await inSnapshot(replica, kind, teamId, filter, signal, async (snapshot) => {
      const { total, start } = await findPageStart(snapshot, offset)
      return { total, summaries: start === undefined ? [] : await snapshot.rows(start, limit) }
    })
    return { totalDocs: total, page, limit, items: summaries }
  }
  const { isFound, text } = await replica.ask(
    {
      method: 'POST',
      path: `/${aliasOf(replica.indexPrefix, kind)}/_search`,
      querystring: { routing: teamId, allow_partial_search_results: false },
      body: { query: { bool: { filter } }, sort: newestFirst, track_total_hits: true, from: offset, size: limit },
    },
    signal,
  )
  if (!isFound) throw new ReplicaUnavailable('missing-index', kind)
  const { total, summaries } = readHits(text)
  return { totalDocs: total, page, limit, items: summaries }
}

/** The clauses that a window on a date field needs: none when it is open at both ends. */
export const within = (field: 'createdAt' | 'changedAt', { since, until }: Window): Clause[] =>
  since === undefined && until === undefined
    ? []
    : [
        {
          range: {
            [field]: { ...(since !== undefined && { gte: since }), ...(until !== undefined && { lte: until }) },
          },
        },
      ]

/** The clause that a filter on one value needs: none when it is not given. */
export const equalTo = (field: 'scene' | 'formId' | 'status', value: string | undefined): Clause[] =>
  value === undefined ? [] : [{ term: { [field]: value } }]
