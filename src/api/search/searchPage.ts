import { type Clause, countOnly, type Filters, newestFirst, ofTeam } from './clauses.ts'
import { findPage } from './findPage.ts'
import { mostBytesOf, type RowKey, rowsIn, searchTeam, totalOf } from './hits.ts'
import type { ListAt } from './indexReader.ts'
import type { ListSnapshot } from './listSnapshot.ts'
import { LargePage, maxPageBytes, type PageRequest, type RowsFound } from './pageEnvelope.ts'
import { ElasticsearchUnavailable } from './searchClient.ts'

/**
 * One page of a list, newest first, with the exact total, by the first filter that finds any row. A page from offset `deepPageFrom` on is read
 * from a snapshot, without skipping the rows before it; so is every page of a list that `hasLarge` rows, which are weighed before they are
 * read. Rejects also with `LargePage`.
 */
export function searchPage(
  list: ListAt,
  filters: Filters,
  request: PageRequest,
  hasLarge: boolean,
  signal: AbortSignal,
): Promise<RowsFound> {
  const isDeep = offsetOf(request) >= list.deepPageFrom
  return firstFound(filters, (filter) =>
    isDeep || hasLarge
      ? list.readSnapshot(list, (snapshot) => deepPage(snapshot, filter, request, hasLarge, signal), signal)
      : shallowPage(list, filter, request, signal),
  )
}

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

/** How many rows a page has of so many. */
const rowsOn = (request: PageRequest, total: number): number =>
  Math.min(request.limit, Math.max(0, total - offsetOf(request)))

/** A list of so many times `deepPageFrom` rows is faster to count in a search of its own than with the hits. */
const longFactor = 20

async function shallowPage(
  list: ListAt,
  filter: readonly Clause[],
  request: PageRequest,
  signal: AbortSignal,
): Promise<RowsFound> {
  const { longLists, deepPageFrom } = list
  const query = ofTeam(list.teamId, filter)
  const search = async (countsRows: boolean): Promise<RowsFound> => {
    const page = { sort: newestFirst, from: offsetOf(request), size: request.limit, track_total_hits: countsRows }
    const answer = searchTeam(list, { query, ...page }, signal)
    const count = countsRows ? answer : searchTeam(list, { query, ...countOnly }, signal)
    const [rows, counted] = await Promise.all([answer, count])
    return { total: totalOf(counted), rows: rowsIn(rows) }
  }
  const name = JSON.stringify([list.type, query])
  let found = await search(!longLists.has(name))
  // A refresh between two searches can make the total contradict the rows.
  if (found.rows.length !== rowsOn(request, found.total)) found = await search(true)
  if (found.total > longFactor * deepPageFrom) longLists.set(name, true)
  else longLists.delete(name)
  return found
}

async function deepPage(
  snapshot: ListSnapshot,
  filter: readonly Clause[],
  request: PageRequest,
  hasLarge: boolean,
  signal: AbortSignal,
): Promise<RowsFound> {
  if (!hasLarge) {
    const { total, range } = await findPage(snapshot.countsOf(filter, signal), offsetOf(request), request.limit)
    return { total, rows: range === undefined ? [] : await snapshot.rows(filter, range, request.limit, signal) }
  }
  const { total, keys } = await findPageKeys(snapshot, filter, request, signal)
  if (mostBytesOf(keys) > maxPageBytes) throw new LargePage()
  return { total, rows: keys.length === 0 ? [] : await snapshot.rowsOf(keys, signal) }
}

/** The keys of the rows of a page, without reading the rows, and how many there are in all. */
export async function findPageKeys(
  snapshot: ListSnapshot,
  filter: readonly Clause[],
  request: PageRequest,
  signal: AbortSignal,
): Promise<{ readonly total: number; readonly keys: readonly RowKey[] }> {
  const { total, range } = await findPage(snapshot.countsOf(filter, signal), offsetOf(request), request.limit)
  const keys = range === undefined ? [] : (await snapshot.keys(filter, range, request.limit, signal)).found
  if (keys.length === rowsOn(request, total)) return { total, keys }
  throw new ElasticsearchUnavailable('partial', `${keys.length} rows on a page of ${total}`)
}
