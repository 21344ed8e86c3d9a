import type { EntityType } from '../../core/model/teamList.ts'
import { largeBytes } from '../../core/stores/documents.ts'
import { type Clause, countOnly, newestFirst, ofTeam } from './clauses.ts'
import { findPage } from './findPage.ts'
import { type RowKey, searchTeam, totalOf } from './hits.ts'
import type { IndexReader, ListReader } from './indexReader.ts'
import type { ListSnapshot } from './listSnapshot.ts'
import { LargePage, maxPageBytes, type Page, type PageRequest } from './page.ts'
import { ElasticsearchUnavailable } from './searchClient.ts'

/** Filters in the order in which they apply: each one counts only if those before it find nothing. */
export type Filters = readonly [readonly Clause[], ...(readonly Clause[])[]]

/**
 * One page of a team's list, newest first, with the exact total, by the first filter that finds any row. A page past the last one is
 * empty. A page that begins at offset `deepPageFrom` or later is read from a snapshot, without skipping the rows before it; so is every page of
 * a list that `hasLarge` rows, which are weighed before they are read. Rejects with `ElasticsearchUnavailable` and `LargePage`.
 */
export async function searchPage(
  indexReader: IndexReader,
  kind: EntityType,
  reader: ListReader,
  filters: Filters,
  { page, limit }: PageRequest,
  hasLarge: boolean,
): Promise<Page> {
  const request = { page, limit }
  const isDeep = offsetOf(request) >= indexReader.deepPageFrom
  const read = isDeep || hasLarge ? deepPage : shallowPage
  const { total, rows } = await firstFound(filters, (filter) => read(indexReader, kind, reader, filter, request))
  return { ...request, totalDocs: total, items: rows }
}

/** Some rows of a list, and how many it has in all. */
type RowsFound = { readonly total: number; readonly rows: readonly Buffer[] }

/** What is found by the first filter that finds any row, or by the last one. */
export async function firstFound<Found extends { readonly total: number }>(
  [filter, ...others]: Filters,
  find: (filter: readonly Clause[]) => Promise<Found>,
): Promise<Found> {
  let found = await find(filter)
  for (const other of others) {
    if (found.total > 0) break
    found = await find(other)
  }
  return found
}

const offsetOf = ({ page, limit }: PageRequest): number => (page - 1) * limit

/** A list of so many times `deepPageFrom` rows is faster to count in a search of its own than with the hits. */
const largeFactor = 20

async function shallowPage(
  indexReader: IndexReader,
  kind: EntityType,
  { teamId, signal }: ListReader,
  filter: readonly Clause[],
  request: PageRequest,
): Promise<RowsFound> {
  const { largeLists, deepPageFrom } = indexReader
  const query = ofTeam(teamId, filter)
  const rows = { query, sort: newestFirst, from: offsetOf(request), size: request.limit }

  const countWithHits = async (): Promise<RowsFound> => {
    const answer = await searchTeam(indexReader, kind, teamId, { ...rows, track_total_hits: true }, signal)
    return { total: totalOf(answer), rows: answer.summaries }
  }
  const countSeparately = async (): Promise<RowsFound> => {
    const [found, count] = await Promise.all([
      searchTeam(indexReader, kind, teamId, { ...rows, track_total_hits: false }, signal),
      searchTeam(indexReader, kind, teamId, { query, ...countOnly }, signal),
    ])
    return { total: totalOf(count), rows: found.summaries }
  }

  const listKey = JSON.stringify([kind, teamId, filter])
  const separate = largeLists.has(listKey) ? await countSeparately() : undefined
  // A refresh between the two searches can make the total contradict the rows.
  const isConsistent = separate?.rows.length === rowsOn(request, separate?.total ?? 0)
  const found = separate !== undefined && isConsistent ? separate : await countWithHits()
  if (found.total > largeFactor * deepPageFrom) largeLists.set(listKey, true)
  else largeLists.delete(listKey)
  return found
}

/** How many rows a page has of so many. */
const rowsOn = (request: PageRequest, total: number): number =>
  Math.min(request.limit, Math.max(0, total - offsetOf(request)))

const deepPage = (
  { readSnapshot }: IndexReader,
  kind: EntityType,
  reader: ListReader,
  filter: readonly Clause[],
  request: PageRequest,
): Promise<RowsFound> =>
  readSnapshot(kind, reader, async (snapshot) => {
    const { signal } = reader
    const [{ total, range }, hasLarge] = await Promise.all([
      findPage(snapshot.countsOf(filter, signal), offsetOf(request), request.limit),
      snapshot.hasLarge(signal),
    ])
    if (range === undefined) return { total, rows: [] }
    if (!hasLarge) return { total, rows: await snapshot.rows(filter, range, request.limit, signal) }
    const { keys } = await snapshot.keys(filter, range, request.limit, signal)
    if (keys.reduce((sum, { bytes = largeBytes }) => sum + bytes, 0) > maxPageBytes) throw new LargePage()
    return { total, rows: keys.length === 0 ? [] : await snapshot.rowsOf(keys, signal) }
  })

/** The keys of the rows of a page, without reading the rows, and how many there are in all. */
export async function findPageKeys(
  snapshot: ListSnapshot,
  filter: readonly Clause[],
  request: PageRequest,
  signal: AbortSignal,
): Promise<{ readonly total: number; readonly keys: readonly RowKey[] }> {
  const { total, range } = await findPage(snapshot.countsOf(filter, signal), offsetOf(request), request.limit)
  const keys = range === undefined ? [] : (await snapshot.keys(filter, range, request.limit, signal)).keys
  if (keys.length === rowsOn(request, total)) return { total, keys }
  throw new ElasticsearchUnavailable('partial', `${keys.length} rows on a page of ${total}`)
}
