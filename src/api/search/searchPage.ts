import type { WindowBound } from '../../core/model/instant.ts'
import type { EntityType } from '../../core/model/teamList.ts'
import { aliasOf } from '../../core/stores/indices.ts'
import { type Clause, countOnly, newestFirst, ofTeam } from './clauses.ts'
import { readAnswer, totalOf } from './hits.ts'
import type { IndexReader } from './indexReader.ts'
import type { ListReader } from './keptSnapshots.ts'
import type { Page, PageRequest } from './page.ts'
import { searchTogether } from './searchTogether.ts'
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
  replica: IndexReader,
  kind: EntityType,
  reader: ListReader,
  filter: readonly Clause[],
  wanted: PageRequest,
): Promise<Page> =>
  firstOf(wanted) < replica.deepPageFrom
    ? shallowPage(replica, kind, reader, filter, wanted)
    : deepPage(replica, kind, reader, filter, wanted)

const firstOf = ({ page, limit }: PageRequest): number => (page - 1) * limit

/** A list that has so many times the rows that may be passed over takes longer to count row by row than to be asked about twice. */
const largeFactor = 20

async function shallowPage(
  replica: IndexReader,
  kind: EntityType,
  { teamId, signal }: ListReader,
  filter: readonly Clause[],
  wanted: PageRequest,
): Promise<Page> {
  const { indexPrefix, ask, largeLists, deepPageFrom } = replica
  const index = aliasOf(indexPrefix, kind)
  const to = { routing: teamId, allow_partial_search_results: false }
  const query = ofTeam(teamId, filter)
  const rows = { query, sort: newestFirst, from: firstOf(wanted), size: wanted.limit }
  const pageOf = (totalDocs: number, items: readonly Buffer[]): Page => ({ ...wanted, totalDocs, items })

  const counted = async (): Promise<Page> => {
    const body = { ...rows, track_total_hits: true }
    const { isFound, bytes } = await ask({ method: 'POST', path: `/${index}/_search`, querystring: to, body }, signal)
    if (!isFound) throw new ReplicaUnavailable('missing-index', kind)
    const answer = readAnswer(bytes)
    return pageOf(totalOf(answer), answer.summaries)
  }
  const countedApart = async (): Promise<Page> => {
    const header = { ...to, index }
    const [found, count] = await searchTogether(
      replica,
      [
        { header, body: { ...rows, track_total_hits: false } },
        { header, body: { query, ...countOnly } },
      ],
      'missing-index',
      signal,
    )
    return pageOf(totalOf(count), found.summaries)
  }

  const name = JSON.stringify([kind, teamId, filter])
  const apart = largeLists.has(name) ? await countedApart() : undefined
  // A refresh between the two can lead to rows that the total contradicts.
  const page = apart !== undefined && isWhole(apart) ? apart : await counted()
  if (page.totalDocs > largeFactor * deepPageFrom) largeLists.set(name, true)
  else largeLists.delete(name)
  return page
}

/** Whether a page holds the rows that a list of so many has there. */
const isWhole = (page: Page): boolean =>
  page.items.length === Math.min(page.limit, Math.max(0, page.totalDocs - firstOf(page)))

const deepPage = (
  { readSnapshot }: IndexReader,
  kind: EntityType,
  reader: ListReader,
  filter: readonly Clause[],
  wanted: PageRequest,
): Promise<Page> =>
  readSnapshot(kind, reader, async (snapshot) => {
    const rows = { offset: firstOf(wanted), limit: wanted.limit }
    const found = await snapshot.page(filter, rows, reader.signal)
    return { ...wanted, totalDocs: found.total, items: found.rows }
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
