import type { IDataObject } from 'n8n-workflow'
import { askPatiently, type Functions, type Query } from './api.ts'
import { parseExactly } from './exactJson.ts'

/**
 * Reads the first `limit` rows of an export, or all if `limit` is Infinity: one request and one snapshot. Rejects when the export is broken off, so that
 * a part never passes for the whole.
 */
export async function exportedRows(
  functions: Functions,
  path: string,
  query: Query,
  limit: number,
): Promise<IDataObject[]> {
  const wanted = { encoding: 'stream', headers: { Accept: 'application/x-ndjson' } } as const
  const { body } = await askPatiently<AsyncIterable<Buffer>>(functions, path, query, wanted)
  const rows: IDataObject[] = []
  const decoder = new TextDecoder()
  let line = ''
  // Leaving the loop closes the connection.
  for await (const piece of body) {
    const [first = '', ...others] = decoder.decode(piece, { stream: true }).split('\n')
    line += first
    for (const other of others) {
      rows.push(parseExactly(line) as IDataObject)
      if (rows.length >= limit) return rows
      line = other
    }
  }
  return rows
}
