/** Which page of a list to read; the first is 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

/** Some rows of a list, and how many it has in all. */
export type RowsFound = { readonly total: number; readonly rows: readonly Buffer[] }

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

/** A larger page is not held in memory. No page without large rows has so many bytes. */
export const maxPageBytes = 2 * 1024 * 1024

/** The rows of a page are too large to be held in memory together: it must be sent part by part. */
export class LargePage extends Error {}

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
