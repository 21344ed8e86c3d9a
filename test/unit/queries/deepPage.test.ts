import fc from 'fast-check'
import { toInstant } from '../../../src/domain/instant.ts'
import type { Clause } from '../../../src/queries/clauses.ts'
import { findPageStart, type ListSnapshot, type PageStart } from '../../../src/queries/deepPage.ts'

type Row = { readonly atMs: number; readonly id: string }

const positionOf = ({ atMs, id }: Row): string => `${toInstant(atMs)}|${id}`
/** As Elasticsearch orders them: by bytes. */
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
const newestFirst = (rows: readonly Row[]): Row[] => rows.toSorted((a, b) => byBytes(positionOf(b), positionOf(a)))

/** What a clause finds, read as Elasticsearch reads it. */
function finds(clause: Clause | undefined, row: Row): boolean {
  const { range, prefix, term } = (clause ?? {}) as Record<string, Record<string, never>>
  if (range?.['createdAt'] !== undefined) return toInstant(row.atMs) <= (range['createdAt'] as { lte: string }).lte
  if (range?.['position'] !== undefined)
    return byBytes(positionOf(row), (range['position'] as { lte: string }).lte) <= 0
  if (prefix !== undefined) return positionOf(row).startsWith(String(prefix['position']))
  if (term !== undefined) return positionOf(row) === term['position']
  return true
}

const snapshotOf = (rows: readonly Row[]): ListSnapshot => ({
  countByTime: async (span, stepMs) => {
    const counts = new Map<number, number>()
    for (const { atMs } of rows) {
      if (span !== undefined && (atMs < span.fromMs || atMs > span.toMs)) continue
      const startMs = Math.floor(atMs / stepMs) * stepMs
      counts.set(startMs, (counts.get(startMs) ?? 0) + 1)
    }
    return [...counts].sort(([a], [b]) => b - a).map(([startMs, count]) => ({ startMs, count }))
  },
  countEach: async (clauses) => clauses.map((clause) => rows.filter((row) => finds(clause, row)).length),
})

const rowAt = (rows: readonly Row[], { clause, skip }: PageStart): Row | undefined =>
  newestFirst(rows.filter((row) => finds(clause, row)))[skip]

const id = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9._:-]{1,3}$/),
  fc.stringMatching(/^(aaaa|aaa-|a:)[a-c._:-]{0,6}$/),
  fc.integer({ min: 0, max: 400 }).map((number) => `s-${number}`),
)
const at = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(0, 1_772_359_200_000) },
  { weight: 2, arbitrary: fc.integer({ min: 1_772_359_200_000, max: 1_772_359_270_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }) },
)
const lists = fc
  .uniqueArray(fc.record({ atMs: at, id }), { maxLength: 700, size: 'max', selector: ({ id }) => id })
  .filter((rows) => rows.length > 0)

test('whatever is in a list, the start of every page leads to its first row, and passes over few', async () => {
  await fc.assert(
    fc.asyncProperty(lists, fc.nat(), async (rows, number) => {
      const offset = number % rows.length
      const { total, start } = await findPageStart(snapshotOf(rows), offset)
      expect(total).toBe(rows.length)
      if (start === undefined) throw new Error('no start for a row that is there')
      expect(rowAt(rows, start)).toEqual(newestFirst(rows)[offset])
      expect(start.skip).toBeLessThanOrEqual(100)
    }),
    { numRuns: 60 },
  )
})

test('a page past the end has no start, and the total is told all the same', async () => {
  expect(await findPageStart(snapshotOf([]), 0)).toEqual({ total: 0, start: undefined })
  const rows = [{ atMs: 5, id: 'a' }]
  expect(await findPageStart(snapshotOf(rows), Number.MAX_SAFE_INTEGER)).toEqual({ total: 1, start: undefined })
})

test('a thousand rows of one millisecond, some ids beginning with others', async () => {
  const ids = Array.from({ length: 500 }, (_, number) => [`s${number}`, `s${number}.x`]).flat()
  const rows = ids.map((each) => ({ atMs: 1_000, id: each }))
  for (const offset of [0, 100, 101, 499, 777, 999]) {
    const { start } = await findPageStart(snapshotOf(rows), offset)
    expect(start === undefined ? undefined : rowAt(rows, start)).toEqual(newestFirst(rows)[offset])
  }
})
