/**
 * Cells of CSV (RFC 4180) made from JSON text. Every text stands in quotes, numbers and booleans do not, and null is an empty cell:
 * a reader that tells quoted cells from others can tell text from numbers, and an empty text from null.
 */

/** The first characters of a formula, also in full width, which spreadsheets in East Asian languages take as well. */
const formulaStart = '[=+\\-@＝＋－＠]'
/** What a spreadsheet may skip before a formula. Quotes count, so that a quote put before them can be told and taken away again. */
const skipped = "[ '\\0\\v\\f\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]*"

/**
 * Where text would be run: at its start, and after what would begin a cell for a reader that separates cells by semicolons or tabs.
 * Such a reader does not see that the text stands in quotes, because they are not the first character of its cell. At the start of
 * text, tab, line break and NUL count as well: spreadsheets may drop them.
 */
const runnable = new RegExp(`(?<=^|[;\\t\\r\\n])(?=${skipped}${formulaStart})|^(?=${skipped}[\\t\\r\\n\\0])`, 'g')
/** The same in JSON text, which has neither tabs nor line breaks and never begins like a formula. */
const runnableInJson = new RegExp(`(;${skipped})(${formulaStart})`, 'g')

/** Text as a cell. What a spreadsheet would run gets a single quote before it, as OWASP advises. */
export const textCell = (text: string): string => quoted(text.replace(runnable, "'"))

/** A JSON value as a cell: text without its escapes, objects and arrays as JSON, digits as they are written. */
export function cellOf(raw: string | undefined): string {
  if (raw === undefined || raw === 'null') return ''
  const first = raw[0]
  if (first === '"') return textCell(raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1))
  return first === '{' || first === '[' ? jsonCell(raw) : raw
}

/** An object or array as a cell: JSON of the same value. What a spreadsheet would run is escaped, as JSON allows for any character. */
export const jsonCell = (raw: string): string =>
  quoted(raw.replace(runnableInJson, (_found, before: string, start: string) => `${before}${escaped(start)}`))

const escaped = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
