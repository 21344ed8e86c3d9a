/** Regular expression of the first character of a formula, also in full width, which spreadsheets in East Asian languages accept. */
export const formulaStart = '[=+\\-@＝＋－＠]'
/**
 * Regular expression of characters, any number, that a spreadsheet may skip before a formula. The single quote is included: `'=1` gets a second quote, so
 * that a reader can always remove the first.
 */
export const skipped = "[ '\\0\\v\\f\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]*"

/**
 * The places before which a spreadsheet would run text as a formula: `=1+1`, `a;=1+1`. That is at its start, and after a semicolon, tab or line break,
 * where a spreadsheet with another separator begins a cell. Also before a tab, line break or NUL at the start, which spreadsheets may drop.
 */
const runnable = new RegExp(`(?<=^|[;\\t\\r\\n])(?=${skipped}${formulaStart})|^(?=${skipped}[\\t\\r\\n\\0])`, 'g')

/** In quotation marks, as CSV quotes text. */
export const quoted = (text) => `"${text.replaceAll('"', '""')}"`

/** Text as a cell. A single quote is inserted before text that a spreadsheet would run as a formula, as OWASP advises. */
export const textCell = (text) => quoted(text.replace(runnable, "'"))

export const csvLine = (cells) => `${cells.join(',')}\r\n`

/** Rows of texts, numbers and nulls as CSV (RFC 4180): text is quoted, numbers are not, null is an empty cell. */
export const csvOf = (rows) =>
  rows.map((row) => csvLine(row.map((cell) => (typeof cell === 'string' ? textCell(cell) : (cell ?? ''))))).join('')
