import { csvTable } from '../../../../src/api/csv.ts'
import { csvLines } from '../../../../src/api/exports.ts'

const table = csvTable(['id'])
const row = (id: number): Buffer => Buffer.from(JSON.stringify({ id }))

/** Rows in three parts, and what has happened to them. */
function threeParts(): { readonly rows: AsyncGenerator<Buffer[]>; readonly log: string[] } {
  const log: string[] = []
  async function* parts(): AsyncGenerator<Buffer[]> {
    try {
      for (const part of [1, 2, 3]) {
        log.push(`part ${part}`)
        yield [row(part), row(10 * part)]
      }
    } finally {
      log.push('closed')
    }
  }
  return { rows: parts(), log }
}

test('the header comes with the first rows, and a part of rows is asked for when the one before was taken', async () => {
  const { rows, log } = threeParts()
  const lines = csvLines(async () => table, rows)
  expect(String((await lines.next()).value)).toBe('"id"\r\n1\r\n10\r\n')
  expect(log).toEqual(['part 1'])
  expect(String((await lines.next()).value)).toBe('2\r\n20\r\n')
  expect(log).toEqual(['part 1', 'part 2'])
  await lines.return()
  expect(log).toEqual(['part 1', 'part 2', 'closed'])
})
