import type { Served } from '../../core/json/shape.ts'
import type { TeamId } from '../../core/model/ids.ts'
import type { ExportParts } from '../context.ts'
import { readDetail } from '../search/readDetail.ts'
import type { RunQuery } from '../search/runQuery.ts'
import type { SearchClient } from '../search/searchClient.ts'
import { answerCodes } from './answerCodes.ts'
import { type CsvTable, csvTable } from './csvTable.ts'

export const csvContentType = 'text/csv; charset=utf-8; header=present'

/** The table of a list: with the answer codes of a form where one is named, which are none if the team has no such form. */
export async function readCsvTable(
  client: SearchClient,
  teamId: TeamId,
  served: Served,
  formId: string | undefined,
  runQuery: RunQuery,
): Promise<CsvTable> {
  if (formId === undefined) return csvTable(served)
  const form = await runQuery((signal) => readDetail(client, 'form-details', teamId, formId, signal))
  return csvTable(served, form === undefined ? [] : answerCodes(form))
}

/** Rows as lines of CSV after a header. Nothing is sent before the first rows are there, so that a failure can still be answered. */
export async function* csvLines(
  readTable: () => Promise<CsvTable>,
  rows: AsyncIterable<readonly Buffer[]>,
): ExportParts {
  const table = await readTable()
  let before = table.header
  for await (const part of rows) {
    yield Buffer.from(before + part.map((row) => table.row(row)).join(''))
    before = ''
  }
  if (before !== '') yield Buffer.from(before)
}
