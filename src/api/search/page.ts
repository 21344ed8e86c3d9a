/** Which page of a list to read; the first is 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

/** A page of a list: the exact total of all pages, and the raw JSON of the items on this one. */
export type Page = PageRequest & { readonly totalDocs: number; readonly items: readonly Buffer[] }

/** Renders the list envelope; items are copied byte for byte. */
export const renderPage = (page: Page): Buffer => Buffer.concat([beginOf(page), ...separated(page.items), end])

/** The same envelope, part by part. */
export async function* renderPageParts(
  request: PageRequest,
  parts: AsyncIterable<{ readonly total: number; readonly rows: readonly Buffer[] }>,
): AsyncGenerator<Buffer, void, undefined> {
  let before: Buffer | undefined
  for await (const { total, rows } of parts) {
    yield Buffer.concat([before ?? beginOf({ ...request, totalDocs: total }), ...separated(rows)])
    before = comma
  }
  yield end
}

const beginOf = ({ totalDocs, page, limit }: Omit<Page, 'items'>): Buffer =>
  Buffer.from(`{"totalDocs":${totalDocs},"page":${page},"limit":${limit},"items":[`)

const separated = (items: readonly Buffer[]): readonly Buffer[] =>
  items.flatMap((item, at) => (at === 0 ? [item] : [comma, item]))

const comma = Buffer.from(',')
const end = Buffer.from(']}')

/** A larger page is not held in memory. No page without large rows has so many bytes. */
export const maxPageBytes = 2 * 1024 * 1024

/** The rows of a page are too large to be held in memory together: it must be sent part by part. */
export class LargePage extends Error {
  constructor() {
    super('the rows of the page are too large to be held in memory together')
    this.name = 'LargePage'
  }
}
