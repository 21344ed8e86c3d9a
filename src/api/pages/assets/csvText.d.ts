/** The first characters of a formula, also in full width: a class of a regular expression. */
export const formulaStart: string
/** Characters that a spreadsheet may skip before a formula: any number of a class of a regular expression. */
export const skipped: string
export function quoted(text: string): string
/** Text as a cell that no spreadsheet runs as a formula. */
export function textCell(text: string): string
export function csvLine(cells: readonly string[]): string
/** Rows of texts, numbers and nulls as CSV (RFC 4180): text is quoted, numbers are not, null is an empty cell. */
export function csvOf(rows: readonly (readonly (string | number | null)[])[]): string
