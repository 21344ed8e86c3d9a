/** Which part of a list is asked for; both count from 1. */
export type PageRequest = { readonly page: number; readonly limit: number }

/** A part of a list: how many match on all pages, and the raw JSON text of the items on this one. */
export type Page = PageRequest & { readonly totalDocs: number; readonly items: readonly string[] }

/** The list envelope around items that stay as they came. */
export const renderPage = ({ totalDocs, page, limit, items }: Page): string =>
  `{"totalDocs":${totalDocs},"page":${page},"limit":${limit},"items":[${items.join(',')}]}`
