import { escapeOf } from '../core/json/iJson.ts'
import { rawMembers, renderObject } from '../core/json/rawJson.ts'
import { type Served, servedPair } from '../core/json/scanner.ts'
import { fieldsWithCode } from './pages/assets/fieldsWithCode.js'

/*
 * CSV (RFC 4180) made from JSON text. Text is quoted, numbers and booleans are not, and null is an empty cell. So a reader can distinguish "1" from
 * the number 1, and an empty text from null.
 */

const lineEnd = '\r\n'

export interface CsvTable {
  readonly header: string
  row(summary: Buffer): string
}

type Columns = { readonly names: readonly string[]; cells(raw: string | undefined): readonly string[] }

/**
 * A column for each served member, named by its dotted path. With `codes`, the answers in `data` have a column for each code, and one for all other
 * answers, as JSON.
 */
export function csvTable(served: Served, codes?: readonly string[]): CsvTable {
  const { names, cells } = columnsOfMembers('', served, codes)
  return { header: line(names.map(textCell)), row: (summary: Buffer): string => line(cells(summary.toString())) }
}

const line = (cells: readonly string[]): string => `${cells.join(',')}${lineEnd}`

function columnsOfMembers(prefix: string, served: Served, codes: readonly string[] | undefined): Columns {
  const members = served.map((member): readonly [string, Columns] => {
    const [name, inner] = servedPair(member)
    const path = `${prefix}${name}`
    if (inner !== undefined) return [name, columnsOfMembers(`${path}.`, inner, undefined)]
    return [name, path === 'data' && codes !== undefined ? answerColumns(codes) : oneColumn(path)]
  })
  return {
    names: members.flatMap(([, { names }]) => names),
    cells: (raw) => {
      const values = rawMembers(raw ?? 'null')
      return members.flatMap(([name, { cells }]) => cells(values.get(name)))
    },
  }
}

const oneColumn = (name: string): Columns => ({ names: [name], cells: (raw) => [cellOf(raw)] })

function answerColumns(codes: readonly string[]): Columns {
  const codesWithColumn = new Set(codes)
  return {
    names: [...codes, otherAnswers].map((code) => `data.${code}`),
    cells: (raw) => {
      const answers = rawMembers(raw ?? 'null')
      const otherMembers = [...answers].filter(([code]) => !codesWithColumn.has(code))
      const others = otherMembers.length === 0 ? '' : jsonCell(renderObject(otherMembers))
      return [...codes.map((code) => cellOf(answers.get(code))), others]
    },
  }
}

/** The column of answers without a column of their own. A form field with this code has no column, either. */
export const otherAnswers = 'other'

/** Bounds the cost of a row. */
const maxCodes = 1_000

export function answerCodes(form: Buffer): string[] {
  const fields: unknown = JSON.parse(rawMembers(form.toString()).get('fields') ?? 'null')
  const codes = new Set(fieldsWithCode(fields).keys())
  codes.delete(otherAnswers)
  return [...codes].slice(0, maxCodes)
}

/** A JSON value as a cell: text without its escapes, objects and arrays as JSON, numbers as written. */
export function cellOf(raw: string | undefined): string {
  if (raw === undefined || raw === 'null') return ''
  const first = raw[0]
  if (first === '"') return textCell(raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1))
  return first === '{' || first === '[' ? jsonCell(raw) : raw
}

/** As OWASP advises, a single quote precedes text that a spreadsheet would run as a formula. */
const textCell = (text: string): string => quote(text.replace(runnable, "'"))

/** JSON of the same value: the first character of a text that a spreadsheet would run becomes a JSON escape. */
const jsonCell = (raw: string): string =>
  quote(raw.replace(runnableInJson, (_found, before: string, start: string) => `${before}${escapeOf(start)}`))

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** Begins a formula. Spreadsheets in East Asian languages accept full width. */
const formulaStart = '[=+\\-@＝＋－＠]'
/**
 * What spreadsheets may skip before a formula. The single quote is included: `'=1` gets a second quote, so that a reader can always remove the
 * first quote.
 */
const skippable = "[ '\\0\\v\\f\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000\\ufeff]*"

/**
 * Where a spreadsheet would run text: at its start, and after a semicolon, tab or line break, where a spreadsheet with another separator begins a
 * cell. At its start also before tab, line break and NUL, which spreadsheets may drop.
 */
const runnable = new RegExp(`(?<=^|[;\\t\\r\\n])(?=${skippable}${formulaStart})|^(?=${skippable}[\\t\\r\\n\\0])`, 'g')
/** JSON text has neither tabs nor line breaks, and never begins like a formula. */
const runnableInJson = new RegExp(`(;${skippable})(${formulaStart})`, 'g')
