import { escapeOf } from '../core/json/iJson.ts'
import { rawMembers, renderObject } from '../core/json/rawJson.ts'
import { type Served, servedPair } from '../core/json/scanner.ts'
import { csvLine, formulaStart, quoted, skipped, textCell } from './pages/assets/csvText.js'
import { fieldsWithCode } from './pages/assets/fieldsWithCode.js'

/*
 * CSV (RFC 4180) made from JSON text. Only text is quoted, and null is an empty cell: a reader can distinguish the text "1" from the number 1, and an
 * empty text from null. `raw` is always the JSON text of a value; undefined is treated as null.
 */

/** Lines of CSV, with their line ends. */
export interface CsvTable {
  readonly header: string
  row(item: Buffer): string
}

/** The columns of one member. `cells` are in the order of `names`. */
type Columns = { readonly names: readonly string[]; cells(raw: string | undefined): readonly string[] }

/**
 * A table with a column for each member in `served`. With `codes`, the member `data` (a submission's answers) has a column for each of these codes,
 * and one more for all other answers, as JSON.
 */
export function csvTable(served: Served, codes?: readonly string[]): CsvTable {
  const { names, cells } = columnsOfMembers('', served, codes)
  return { header: csvLine(names.map(textCell)), row: (item: Buffer): string => csvLine(cells(item.toString())) }
}

/** `prefix`: such as `result.`; empty for the item itself. */
function columnsOfMembers(prefix: string, served: Served, codes: readonly string[] | undefined): Columns {
  const members = served.map((member): readonly [name: string, columns: Columns] => {
    const [name, innerMembers] = servedPair(member)
    const path = `${prefix}${name}`
    if (innerMembers !== undefined) return [name, columnsOfMembers(`${path}.`, innerMembers, undefined)]
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
      const others = [...answers].filter(([code]) => !codesWithColumn.has(code))
      const cellOfOthers = others.length === 0 ? '' : jsonCell(renderObject(others))
      return [...codes.map((code) => cellOf(answers.get(code))), cellOfOthers]
    },
  }
}

/** The column `data.other` has all answers without a column of their own, also those to a field with the code `other`. */
export const otherAnswers = 'other'

/** Bounds the cost of a row. */
const maxCodes = 1_000

/** The codes of a form's fields that get a column. */
export function answerCodes(form: Buffer): string[] {
  const fields: unknown = JSON.parse(rawMembers(form.toString()).get('fields') ?? 'null')
  const codes = new Set(fieldsWithCode(fields).keys())
  codes.delete(otherAnswers)
  return [...codes].slice(0, maxCodes)
}

/** Text without its escapes, digits as they are written. */
export function cellOf(raw: string | undefined): string {
  if (raw === undefined || raw === 'null') return ''
  const first = raw[0]
  if (first === '"') return textCell(raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1))
  return first === '{' || first === '[' ? jsonCell(raw) : raw
}

/** JSON of the same value: where a spreadsheet would run text as a formula, the formula's first character is escaped. */
const jsonCell = (raw: string): string =>
  quoted(raw.replace(runnableInJson, (_match, before: string, start: string) => `${before}${escapeOf(start)}`))

/**
 * A spreadsheet that separates cells by semicolons would run the formula in `{"q1":"a;=1+1"}`. Formulas begin nowhere else: the JSON has neither tabs
 * nor line breaks, and does not begin like a formula.
 */
const runnableInJson = new RegExp(`(;${skipped})(${formulaStart})`, 'g')
