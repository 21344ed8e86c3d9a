/** Regular expression of the first character of a formula, also in full width. */
export const formulaStart: string
/** Regular expression of characters, any number, that a spreadsheet may skip before a formula. */
export const skipped: string
export function quoted(text: string): string
/** Text as a cell that no spreadsheet runs as a formula. */
export function textCell(text: string): string
/** With its line end. */
export function csvLine(cells: readonly string[]): string
/** Text is quoted, numbers are not, null is an empty cell. */
export function csvOf(rows: readonly (readonly (string | number | null)[])[]): string
