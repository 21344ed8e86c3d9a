// biome-ignore lint/suspicious/noExplicitAny: a test's picture of JSON
type Json = any

/** Texts that may be a number outside the range or precision of a double. */
const mayRound = /\d{16}|\d[eE][+-]?\d/

/**
 * Parses JSON. Numbers that a double does not hold are read as texts with their digits: integers beyond 2^53, and whatever is beyond a
 * double. Other decimals are rounded to doubles, as by `JSON.parse`.
 */
export const readExactly = (text: string): Json =>
  mayRound.test(text) ? JSON.parse(text, exactNumber) : JSON.parse(text)

function exactNumber(_name: string, value: unknown, { source }: { source?: string } = {}): unknown {
  if (typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)) return value
  return /^-?\d+$/.test(source) || !Number.isFinite(value) ? source : value
}
