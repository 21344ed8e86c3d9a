/** Which part of a list is asked for; both count from 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

/** A part of a list: how many match on all pages, and the raw JSON of the items on this one. */
export type Page = PageRequest & { readonly totalDocs: number; readonly items: readonly Buffer[] }

/** The list envelope around items that stay as they came. */
export function renderPage({ totalDocs, page, limit, items }: Page): Buffer {
  const parts: Buffer[] = [Buffer.from(`{"totalDocs":${totalDocs},"page":${page},"limit":${limit},"items":[`)]
  for (const [at, item] of items.entries()) parts.push(...(at === 0 ? [] : [comma]), item)
  return Buffer.concat([...parts, end])
}

const comma = Buffer.from(',')
const end = Buffer.from(']}')
