import { parse } from 'csv-parse/sync'

/** Characters that begin a formula in a spreadsheet. */
const formulaStarts = '=+-@＝＋－＠'

/** A cell of our CSV (RFC 4180): text is quoted, numbers and booleans are not, null is empty. */
export type Cell = { readonly text: string; readonly isQuoted: boolean }

/** The rows of CSV, with the header, by a third-party parser that accepts RFC 4180 only. */
export const csvRows = (text: string, lineEnd = '\r\n'): Cell[][] =>
  parse(text, {
    record_delimiter: lineEnd,
    cast: (cell, { quoting }): Cell => ({ text: cell, isQuoted: quoting }),
  }) as unknown as Cell[][]

/** The rows of CSV as column name → cell. */
export function csvRecords(text: string, lineEnd?: string): Record<string, Cell>[] {
  const [header = [], ...rows] = csvRows(text, lineEnd)
  const names = header.map((cell) => cell.text)
  if (new Set(names).size < names.length) throw new Error(`two columns have one name: ${names.join(', ')}`)
  return rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at] ?? missing])))
}

const missing: Cell = { text: 'no such cell', isQuoted: false }

/** The text of a cell without the `'` that protects it from being run as a formula. */
export const asWritten = (cell: string): string => {
  const skipped = "(?:[^\\S\\t\\r\\n]|['\\0])*"
  const start = `${skipped}[${formulaStarts.replace('-', '\\-')}]`
  return cell.replace(new RegExp(`(?<=^|[;\\t\\r\\n])'(?=${start})|^'(?=${skipped}[\\t\\r\\n\\0])`, 'g'), '')
}

/** Expects a cell to contain the JSON value `raw`; undefined for a missing member. */
export function expectCell(cell: Cell | undefined, raw: string | undefined): void {
  const value: unknown = raw === undefined ? null : JSON.parse(raw)
  const { text = '' } = cell ?? {}
  if (value === null) expect(cell).toEqual({ text: '', isQuoted: false })
  else if (typeof value === 'string')
    expect({ ...cell, text: asWritten(text) }).toEqual({ text: value.toWellFormed(), isQuoted: true })
  else if (typeof value === 'object')
    expect({ ...cell, text: JSON.parse(text) as unknown }).toEqual({ text: value, isQuoted: true })
  else expect(cell).toEqual({ text: raw, isQuoted: false })
}

/** Pieces of a cell that a spreadsheet with semicolons or tabs as separators would run as formulas. */
export const runnablePieces = (cell: string): string[] =>
  cell.split(/[;\t\r\n]/).filter((piece) => formulaStarts.includes(piece.replace(/^[\s\0]+/, '')[0] ?? 'none'))
