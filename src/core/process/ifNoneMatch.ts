/**
 * Whether `If-None-Match` names `etag`: `*`, or a list that holds it, weak or strong alike. It decides alone. Every `fetch` adds
 * `Cache-Control: no-cache` to it, which is said to the caches on the way.
 */
export const namesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => opaque(tag) === opaque(etag))

const opaque = (etag: string): string => etag.trim().replace(/^W\//, '')
