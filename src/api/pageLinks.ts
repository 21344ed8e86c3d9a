import type { PageRequest } from './search/page.ts'

/** Node's HTTP clients accept 16 KiB of headers. */
const maxLinkBytes = 4_096

/**
 * The `Link` of a page (RFC 8288): `first`, `prev`, `next` and `last` page with the query as it was sent, apart from `page`. There is no
 * `prev` on the first page and no `next` on the last one; `prev` of a page past the end is the last one. Undefined if it takes more
 * than 4 KiB. `url` is the public URL of the list, without a query.
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
