const longestMs = 60 * 60_000

/** How long a `Retry-After` header asks to wait, in ms, one hour at most: it has seconds or an HTTP date. Without a usable header `undefined`. */
export function retryAfterMs(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined
  const waitMs = /^\d+$/.test(header.trim()) ? Number(header) * 1_000 : Date.parse(header) - nowMs
  return Number.isNaN(waitMs) ? undefined : Math.min(Math.max(waitMs, 0), longestMs)
}
