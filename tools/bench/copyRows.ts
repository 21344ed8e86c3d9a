import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

const rowsAtOnce = 100

/** Fills a table of PostgreSQL; `report` hears how many rows there were. No value may hold a tab or a line end. */
export async function copyRows(
  client: Client,
  table: string,
  rows: Iterable<readonly string[]>,
  report: (rows: number) => void,
  signal: AbortSignal,
): Promise<void> {
  await pipeline(Readable.from(chunksOf(rows, report)), client.query(copyFrom(`COPY ${table} FROM STDIN`)), { signal })
}

/** Rows in the text format of COPY. */
function* chunksOf(rows: Iterable<readonly string[]>, report: (rows: number) => void): Generator<string> {
  let chunk = ''
  let count = 0
  for (const row of rows) {
    chunk += `${row.map(escaped).join('\t')}\n`
    if (++count % rowsAtOnce !== 0) continue
    yield chunk
    report(count)
    chunk = ''
  }
  yield chunk
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\')
