import { type Clause, countOnly, type Filters, newestFirst, ofTeam } from './clauses.ts'
import { findPage } from './findRows.ts'
import { allOf, type RowKey, rowsIn, searchTeam, totalOf } from './hits.ts'
import type { ListAt } from './indexReader.ts'
import { mostBytesOf } from './largeRows.ts'
import type { ListSnapshot } from './listSnapshot.ts'

/** Which page of a list to read; the first is 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

/** Some rows of a list, and how many it has in all. */
export type RowsFound = { readonly total: number; readonly rows: readonly Buffer[] }

/** A larger page is not held in memory. No page without large rows has so many bytes. */
export const maxPageBytes = 2 * 1024 * 1024

/** The rows of a page are too large to be held in memory together: it must be sent part by part. */
export class LargePage extends Error {}

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
      ? list.readSnapshot(list, (snapshot) => deepPage(snapshot, filter, request, hasLarge, signal))
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

/**
 * A list of so many times `deepPageFrom` rows is faster to count in a search of its own than with the hits. It is counted once for each of
 * its versions.
 */
const longFactor = 20

async function shallowPage(
  list: ListAt,
  filter: readonly Clause[],
  request: PageRequest,
  signal: AbortSignal,
): Promise<RowsFound> {
  const { longLists, deepPageFrom, version } = list
  const query = ofTeam(list.teamId, filter)
  const search = async (countApart?: () => number | Promise<number>): Promise<RowsFound> => {
    const page = { sort: newestFirst, from: offsetOf(request), size: request.limit }
    const answer = searchTeam(list, { query, ...page, track_total_hits: countApart === undefined }, signal)
    const [found, counted] = await Promise.all([answer, countApart?.()])
    return { total: counted ?? totalOf(found), rows: rowsIn(found) }
  }
  const count = async (): Promise<number> => totalOf(await searchTeam(list, { query, ...countOnly }, signal))
  const name = JSON.stringify([list.type, query])
  const long = longLists.get(name)
  const isCounted = version !== null && long?.version === version
  let found = await search(long && (isCounted ? () => long.total : count))
  // A refresh between two searches can make the total contradict the rows.
  if (found.rows.length !== rowsOn(request, found.total)) found = await search()
  if (found.total > longFactor * deepPageFrom) longLists.set(name, { version, total: found.total })
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
    const { total, range } = await rangeOf(snapshot, filter, request, signal)
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
  const { total, range } = await rangeOf(snapshot, filter, request, signal)
  const keys = range === undefined ? [] : await snapshot.keys(filter, range, request.limit, signal)
  return { total, keys: allOf(rowsOn(request, total), keys) }
}

const rangeOf = (snapshot: ListSnapshot, filter: readonly Clause[], request: PageRequest, signal: AbortSignal) =>
  findPage(
    snapshot.countsOf(filter, (send) => send(signal)),
    offsetOf(request),
    request.limit,
  )

/** Renders the list envelope; rows are copied byte for byte. */
export const renderPage = (request: PageRequest, { total, rows }: RowsFound): Buffer =>
  Buffer.concat([beginOf(request, total), ...separated(rows), end])

/** The same envelope, part by part; `onTotal` hears the total before the first one. */
export async function* renderPageParts(
  request: PageRequest,
  parts: AsyncIterable<RowsFound>,
  onTotal: (total: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  let before: Buffer | undefined
  for await (const { total, rows } of parts) {
    onTotal(total)
    yield Buffer.concat([before ?? beginOf(request, total), ...separated(rows)])
    before = comma
  }
  yield end
}

const beginOf = ({ page, limit }: PageRequest, totalDocs: number): Buffer =>
  Buffer.from(`{"totalDocs":${totalDocs},"page":${page},"limit":${limit},"items":[`)

const separated = (items: readonly Buffer[]): readonly Buffer[] =>
  items.flatMap((item, at) => (at === 0 ? [item] : [comma, item]))

const comma = Buffer.from(',')
const end = Buffer.from(']}')

/** Node's HTTP clients accept 16 KiB of headers. */
const maxLinkBytes = 4_096

/**
 * The `Link` of a page (RFC 8288): `first`, `prev`, `next` and `last` page, with the query as it was sent otherwise. `prev` of a page past the
 * end is the last one. Undefined if it takes more than 4 KiB. `url` is the public URL of the list, without a query.
 */
export function pageLinks(
  url: string,
  querystring: string,
  { page, limit }: PageRequest,
  totalDocs: number,
): string | undefined {
  // Without this question mark, URLSearchParams would strip one that the query itself begins with.
  const query = new URLSearchParams(`?${querystring}`)
  const linkTo = (relation: string, number: number): string => {
    query.set('page', String(number))
    return `<${url}?${query}>; rel="${relation}"`
  }
  const last = Math.max(1, Math.ceil(totalDocs / limit))
  const links = [
    linkTo('first', 1),
    ...(page > 1 ? [linkTo('prev', Math.min(page - 1, last))] : []),
    ...(page < last ? [linkTo('next', page + 1)] : []),
    linkTo('last', last),
  ].join(', ')
  return links.length > maxLinkBytes ? undefined : links
}
