import { largeBytes } from '../../core/elasticsearch/documentFormat.ts'
import { type Filter, type Filters, newestFirst, ofTeam } from './clauses.ts'
import { expectCount, rowsIn, searchTeam, totalOf } from './hits.ts'
import type { VersionedList } from './indexReader.ts'
import { hasLarge, mostBytesOf } from './largeRows.ts'
import type { ListSnapshot } from './listSnapshot.ts'
import type { QueryTurns } from './queryTurns.ts'
import { rangeOfPage } from './rowRanges.ts'

/** `page`: from 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

/** `total`: of the list. `rows`: of the page or of a part, as JSON. */
export type RowsFound = { readonly total: number; readonly rows: readonly Buffer[] }

/** A larger page is streamed in parts. A page without large rows is always smaller. */
export const maxPageBytes = 2 * 1024 * 1024

/**
 * Used of the team's 18 MiB (`queryQueue.ts`): a team reads two such pages at a time. Each takes several searches. Among thousands of long titles, a
 * search costs as much as many small pages.
 */
const queryBytesWithLargeRows = 8 * 1024 * 1024

export class PageTooLarge extends Error {}

/** Rejects with `PageTooLarge` above `maxPageBytes`. */
export async function readPage(
  list: VersionedList,
  filters: Filters,
  request: PageRequest,
  turns: QueryTurns,
): Promise<RowsFound> {
  const hasLargeRows = await hasLarge(list, 'summary', turns.run)
  const mostSmallBytes = request.limit * largeBytes
  await turns.reserve(hasLargeRows ? maxPageBytes : mostSmallBytes)
  return await turns.run(
    (signal) => searchPage(list, filters, request, hasLargeRows, signal),
    hasLargeRows ? queryBytesWithLargeRows : mostSmallBytes,
  )
}

/** Newest first, with the exact total. A deep page, or a page of a list with large rows, is found by counting in a snapshot. */
export function searchPage(
  list: VersionedList,
  filters: Filters,
  request: PageRequest,
  hasLargeRows: boolean,
  signal: AbortSignal,
): Promise<RowsFound> {
  const isDeep = offsetOf(request) >= list.deepPageFrom
  if (!isDeep && !hasLargeRows) return firstFound(filters, (filter) => shallowPage(list, filter, request, signal))
  const pageIn = hasLargeRows ? pageByKeys : deepPage
  return firstFound(filters, (filter) =>
    list.readSnapshot(list, (snapshot) => pageIn(snapshot, filter, request, signal)),
  )
}

/** The result of the first filter that finds a row, else of the last filter. */
export async function firstFound<Result extends { readonly total: number }>(
  [filter, ...others]: Filters,
  find: (filter: Filter) => Promise<Result>,
): Promise<Result> {
  let result = await find(filter)
  for (const other of others) {
    if (result.total > 0) break
    result = await find(other)
  }
  return result
}

const offsetOf = ({ page, limit }: PageRequest): number => (page - 1) * limit

const rowCountOf = (request: PageRequest, total: number): number =>
  Math.min(request.limit, Math.max(0, total - offsetOf(request)))

/** One search for rows and total: a change between two would make the total wrong for the rows. */
async function shallowPage(list: VersionedList, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const page = { sort: newestFirst, from: offsetOf(request), size: request.limit, track_total_hits: true }
  const answer = await searchTeam(list, { query: ofTeam(list.teamId, filter), ...page }, signal)
  return { total: totalOf(answer), rows: rowsIn(answer) }
}

async function deepPage(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const { total, range } = await rangeOf(snapshot, filter, request, signal)
  return { total, rows: range === undefined ? [] : await snapshot.rows(filter, range, request.limit, signal) }
}

async function pageByKeys(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const { total, keys } = await findPageKeys(snapshot, filter, request, signal)
  if (mostBytesOf(keys) > maxPageBytes) throw new PageTooLarge()
  return { total, rows: keys.length === 0 ? [] : await snapshot.rowsOf(keys, signal) }
}

/** With the sizes of large rows; reads no rows. */
export async function findPageKeys(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const { total, range } = await rangeOf(snapshot, filter, request, signal)
  const keys = range === undefined ? [] : await snapshot.keys(filter, range, request.limit, signal)
  return { total, keys: expectCount(rowCountOf(request, total), keys) }
}

function rangeOf(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  // The page has its turn already: its counts need none.
  const counts = snapshot.countsOf(filter, (send) => send(signal))
  return rangeOfPage(counts, offsetOf(request), request.limit)
}

/** The same JSON, or only the members of the parameter `fields`. */
export type PickRow = (row: Buffer) => Buffer

export const renderPage = (request: PageRequest, { total, rows }: RowsFound, pick: PickRow): Buffer =>
  Buffer.concat([beginOf(request, total), ...separated(rows.map(pick)), end])

/** The same bytes as `renderPage`; calls `onTotal` before each part. */
export async function* renderPageParts(
  request: PageRequest,
  parts: AsyncIterable<RowsFound>,
  pick: PickRow,
  onTotal: (total: number) => void,
): AsyncGenerator<Buffer, void, undefined> {
  let isFirstPart = true
  for await (const { total, rows } of parts) {
    onTotal(total)
    const beginning = isFirstPart ? beginOf(request, total) : comma
    yield Buffer.concat([beginning, ...separated(rows.map(pick))])
    isFirstPart = false
  }
  yield end
}

const beginOf = ({ page, limit }: PageRequest, totalDocs: number): Buffer =>
  Buffer.from(`{"totalDocs":${totalDocs},"page":${page},"limit":${limit},"items":[`)

const separated = (items: readonly Buffer[]): readonly Buffer[] =>
  items.flatMap((item, index) => (index === 0 ? [item] : [comma, item]))

const comma = Buffer.from(',')
const end = Buffer.from(']}')

/** A quarter of the headers that Node's HTTP clients accept. */
const maxLinkBytes = 4_096

/**
 * The `Link` header (RFC 8288), with the request's other parameters. Past the end, `prev` is the last page. Undefined above `maxLinkBytes`. `url`:
 * the list's public URL.
 */
export function pageLinks(url: string, querystring: string, { page, limit }: PageRequest, totalDocs: number) {
  // URLSearchParams strips one leading question mark, which may belong to the query itself.
  const query = new URLSearchParams(`?${querystring}`)
  const linkTo = (relation: string, number: number): string => {
    query.set('page', String(number))
    return `<${url}?${query}>; rel="${relation}"`
  }
  const first = linkTo('first', 1)
  const last = Math.max(1, Math.ceil(totalDocs / limit))
  // Checked first, because the other links take long with thousands of parameters. The header has at least two links.
  if (2 * first.length > maxLinkBytes) return undefined
  const links = [
    first,
    ...(page > 1 ? [linkTo('prev', Math.min(page - 1, last))] : []),
    ...(page < last ? [linkTo('next', page + 1)] : []),
    linkTo('last', last),
  ].join(', ')
  return links.length > maxLinkBytes ? undefined : links
}
