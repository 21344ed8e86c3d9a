import { rawMembers, renderObject } from '../../core/json/rawJson.ts'
import type { Served } from '../../core/json/shape.ts'
import { cellOf, jsonCell, textCell } from './cells.ts'

const lineEnd = '\r\n'

/** Renders the summaries of a list as the lines of one table. */
export type CsvTable = { readonly header: string; row(summary: Buffer): string }

/** Columns that are made of one member of a summary: their names, and their cells in a row. */
type Columns = { readonly names: readonly string[]; cells(raw: string | undefined): readonly string[] }

/**
 * A table with a column for each served member, named by its path with dots. With `codes`, the answers in `data` have a column for
 * each code; those without one are together in a last column, as JSON.
 */
export function csvTable(served: Served, codes?: readonly string[]): CsvTable {
  const columns = columnsOfMembers('', served, codes)
  return {
    header: line(columns.names.map(textCell)),
    row: (summary) => line(columns.cells(summary.toString())),
  }
}

const line = (cells: readonly string[]): string => `${cells.join(',')}${lineEnd}`

function columnsOfMembers(prefix: string, served: Served, codes: readonly string[] | undefined): Columns {
  const members = served.map((each): readonly [string, Columns] => {
    const [name, inner] = typeof each === 'string' ? [each] : each
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
      const others = [...answers].filter(([code]) => !known.has(code))
      return [
        ...codes.map((code) => cellOf(answers.get(code))),
        others.length === 0 ? '' : jsonCell(renderObject(others)),
      ]
    },
  }
}

/** The column of the answers that have no column of their own, and so no code of a column. */
export const otherAnswers = 'other'

/** The most answer codes that get a column: it bounds what a row costs, however many fields a form has. */
const maxCodes = 1_000

/**
 * The codes of a form's fields in their order, each once, as far as they become columns; also those of fields within fields. Text that is
 * no Unicode, such as a lone surrogate, becomes none.
 */
export function answerCodes(form: Buffer): string[] {
  const codes = new Set<string>()
  collect(JSON.parse(rawMembers(form.toString()).get('fields') ?? 'null'), codes)
  codes.delete(otherAnswers)
  return [...codes].slice(0, maxCodes)
}

function collect(fields: unknown, codes: Set<string>): void {
  if (!Array.isArray(fields)) return
  for (const field of fields as unknown[]) {
    if (typeof field !== 'object' || field === null) continue
    // Half a character is no name: in UTF-8, all halves are the same.
    if ('code' in field && typeof field.code === 'string' && field.code.isWellFormed()) codes.add(field.code)
    if ('fields' in field) collect(field.fields, codes)
  }
}
