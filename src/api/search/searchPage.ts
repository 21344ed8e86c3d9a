import { largeBytes } from '../../core/elasticsearch/documentFormat.ts'
import { type Filter, type Filters, newestFirst, ofTeam } from './clauses.ts'
import { expectCount, rowsIn, searchTeam, totalOf } from './hits.ts'
import type { ListAt } from './indexReader.ts'
import { hasLarge, mostBytesOf } from './largeRows.ts'
import type { ListSnapshot } from './listSnapshot.ts'
import type { QueryTurns } from './queryTurns.ts'
import { rangeOfPage } from './rowRanges.ts'

/** The first page is 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

export type RowsFound = { readonly total: number; readonly rows: readonly Buffer[] }

/** Larger pages are streamed in parts. A page without large rows (`largeBytes`) is always smaller. */
export const maxPageBytes = 2 * 1024 * 1024

/**
 * The weight in `queryQueue.ts` of a page with large rows: a team reads two such pages at a time. Each takes several searches. Among
 * thousands of long titles, such a search costs Elasticsearch as much as many small pages.
 */
const largeListBytes = 8 * 1024 * 1024

export class LargePage extends Error {}

/** One page (`searchPage`), with memory reserved for its bytes. Rejects with `LargePage` above `maxPageBytes`. */
export async function readPage(
  list: ListAt,
  filters: Filters,
  request: PageRequest,
  turns: QueryTurns,
): Promise<RowsFound> {
  const isLarge = await hasLarge(list, 'summary', turns.run)
  const bytes = request.limit * largeBytes
  await turns.reserve(isLarge ? maxPageBytes : bytes)
  return await turns.run(
    (signal) => searchPage(list, filters, request, isLarge, signal),
    isLarge ? largeListBytes : bytes,
  )
}

/**
 * One page, newest first, with the exact total, by the first filter that finds a row. Before offset `deepPageFrom`, each filter takes one search. A
 * deeper page, or a page of a list with large rows, is found by counting in a snapshot.
 */
export function searchPage(
  list: ListAt,
  filters: Filters,
  request: PageRequest,
  isLarge: boolean,
  signal: AbortSignal,
): Promise<RowsFound> {
  const isDeep = offsetOf(request) >= list.deepPageFrom
  const read = isLarge ? largePage : deepPage
  return firstFound(filters, (filter) =>
    isDeep || isLarge
      ? list.readSnapshot(list, (snapshot) => read(snapshot, filter, request, signal))
      : shallowPage(list, filter, request, signal),
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

const rowsOn = (request: PageRequest, total: number): number =>
  Math.min(request.limit, Math.max(0, total - offsetOf(request)))

/** One search for rows and total: a second search could already see a later change. */
async function shallowPage(list: ListAt, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const page = { sort: newestFirst, from: offsetOf(request), size: request.limit, track_total_hits: true }
  const answer = await searchTeam(list, { query: ofTeam(list.teamId, filter), ...page }, signal)
  return { total: totalOf(answer), rows: rowsIn(answer) }
}

async function deepPage(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const { total, range } = await rangeOf(snapshot, filter, request, signal)
  return { total, rows: range === undefined ? [] : await snapshot.rows(filter, range, request.limit, signal) }
}

async function largePage(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const { total, keys } = await findPageKeys(snapshot, filter, request, signal)
  if (mostBytesOf(keys) > maxPageBytes) throw new LargePage()
  return { total, rows: keys.length === 0 ? [] : await snapshot.rowsOf(keys, signal) }
}

/** Reads keys, but no rows. */
export async function findPageKeys(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const { total, range } = await rangeOf(snapshot, filter, request, signal)
  const keys = range === undefined ? [] : await snapshot.keys(filter, range, request.limit, signal)
  return { total, keys: expectCount(rowsOn(request, total), keys) }
}

function rangeOf(snapshot: ListSnapshot, filter: Filter, request: PageRequest, signal: AbortSignal) {
  const counts = snapshot.countsOf(filter, (send) => send(signal))
  return rangeOfPage(counts, offsetOf(request), request.limit)
}

/** Makes an item from a row (`pickFields`). */
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
  let before: Buffer | undefined
  for await (const { total, rows } of parts) {
    onTotal(total)
    yield Buffer.concat([before ?? beginOf(request, total), ...separated(rows.map(pick))])
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

/** Node's HTTP clients accept 16 KiB of headers in all. */
const maxLinkBytes = 4_096

/**
 * The `Link` header (RFC 8288), with the request's other parameters. `prev` of a page past the end is the last page. Undefined above 4 KiB. `url`:
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
  // The header has two links at least. Rendering thousands of parameters three more times would take long.
  if (2 * first.length > maxLinkBytes) return undefined
  const links = [
    first,
    ...(page > 1 ? [linkTo('prev', Math.min(page - 1, last))] : []),
    ...(page < last ? [linkTo('next', page + 1)] : []),
    linkTo('last', last),
  ].join(', ')
  return links.length > maxLinkBytes ? undefined : links
}
