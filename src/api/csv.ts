import { escapeOf } from '../core/json/iJson.ts'
import { rawMembers, renderObject } from '../core/json/rawJson.ts'
import { type Served, servedPair } from '../core/json/scanner.ts'
import { csvLine, formulaStart, quoted, skipped, textCell } from './pages/assets/csvText.js'
import { fieldsWithCode } from './pages/assets/fieldsWithCode.js'

/*
 * CSV (RFC 4180) made from JSON text. Text is quoted, numbers and booleans are not, and null is an empty cell, so that a reader can distinguish the
 * text "1" from the number 1, and an empty text from null.
 */

export interface CsvTable {
  readonly header: string
  row(summary: Buffer): string
}

/** The columns of one member of a summary. */
type Columns = { readonly names: readonly string[]; cells(raw: string | undefined): readonly string[] }

/**
 * A table with a column for each served member, named by its dotted path. With `codes`, the answers in `data` have a column for each of these codes,
 * and one more column for all other answers, as JSON.
 */
export function csvTable(served: Served, codes?: readonly string[]): CsvTable {
  const { names, cells } = columnsOfMembers('', served, codes)
  return { header: csvLine(names.map(textCell)), row: (summary: Buffer): string => csvLine(cells(summary.toString())) }
}

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
  const known = new Set(codes)
  return {
    names: [...codes, otherAnswers].map((code) => `data.${code}`),
    cells: (raw) => {
      const answers = rawMembers(raw ?? 'null')
      const unknown = [...answers].filter(([code]) => !known.has(code))
      const others = unknown.length === 0 ? '' : jsonCell(renderObject(unknown))
      return [...codes.map((code) => cellOf(answers.get(code))), others]
    },
  }
}

/** The column of all answers without a column of their own. A form field with this code has no column of its own. */
export const otherAnswers = 'other'

/** The most columns of answers, which bounds the cost of a row. */
const maxCodes = 1_000

export function answerCodes(form: Buffer): string[] {
  const fields: unknown = JSON.parse(rawMembers(form.toString()).get('fields') ?? 'null')
  const codes = new Set(fieldsWithCode(fields).keys())
  codes.delete(otherAnswers)
  return [...codes].slice(0, maxCodes)
}

/** A JSON value as a cell: text without its escapes, objects and arrays as JSON, digits as they are written. */
export function cellOf(raw: string | undefined): string {
  if (raw === undefined || raw === 'null') return ''
  const first = raw[0]
  if (first === '"') return textCell(raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1))
  return first === '{' || first === '[' ? jsonCell(raw) : raw
}

/** An object or array as a cell: JSON of the same value. The first character of text that a spreadsheet would run becomes a JSON escape. */
const jsonCell = (raw: string): string =>
  quoted(raw.replace(runnableInJson, (_found, before: string, start: string) => `${before}${escapeOf(start)}`))

/**
 * Where a spreadsheet would run text in JSON as a formula: after a semicolon. JSON has neither tabs nor line breaks, and never begins like a
 * formula.
 */
const runnableInJson = new RegExp(`(;${skipped})(${formulaStart})`, 'g')
