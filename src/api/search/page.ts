/** Which page of a list to read; the first is 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

/** A page of a list: the exact total of all pages, and the raw JSON of the items on this one. */
export type Page = PageRequest & { readonly totalDocs: number; readonly items: readonly Buffer[] }

/** Renders the list envelope; items are copied byte for byte. */
export function renderPage({ totalDocs, page, limit, items }: Page): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"totalDocs":${totalDocs},"page":${page},"limit":${limit},"items":[`)]
  for (const [at, item] of items.entries()) parts.push(...(at === 0 ? [] : [comma]), item)
  return Buffer.concat([...parts, end])
}

const comma = Buffer.from(',')
const end = Buffer.from(']}')
