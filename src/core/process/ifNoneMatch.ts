/**
 * Whether `If-None-Match` matches `etag` by weak comparison; `*` matches all. `Cache-Control: no-cache` in the request changes
 * nothing: every `fetch` with `If-None-Match` adds it, and it is meant for caches on the way.
 */
export const namesEtag = (ifNoneMatch: string, etag: string): boolean =>
  ifNoneMatch.trim() === '*' || ifNoneMatch.includes(etag.replace(/^W\//, ''))
