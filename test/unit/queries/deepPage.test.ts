import fc from 'fast-check'
import { toInstant } from '../../../src/domain/instant.ts'
import type { Clause } from '../../../src/queries/clauses.ts'
import { findPage, type ListCounts, type Stretch } from '../../../src/queries/deepPage.ts'

type Row = { readonly atMs: number; readonly id: string }

const positionOf = ({ atMs, id }: Row): string => `${toInstant(atMs)}|${id}`
/** As Elasticsearch orders them: by bytes. */
const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))
const newestFirst = (rows: readonly Row[]): Row[] => rows.toSorted((a, b) => byBytes(positionOf(b), positionOf(a)))

type Bounds = { readonly gte: string; readonly lte: string }
const isBetween = (text: string, { gte, lte }: Bounds): boolean => byBytes(text, gte) >= 0 && byBytes(text, lte) <= 0

/** What a clause finds, read as Elasticsearch reads it. */
function finds(clause: Clause | undefined, row: Row): boolean {
  const { range, prefix, term } = (clause ?? {}) as Record<string, Record<string, never>>
  if (range?.['createdAt'] !== undefined) return isBetween(toInstant(row.atMs), range['createdAt'])
  if (range?.['position'] !== undefined) return isBetween(positionOf(row), range['position'])
  if (prefix !== undefined) return positionOf(row).startsWith(String(prefix['position']))
  if (term !== undefined) return positionOf(row) === term['position']
  throw new Error(`not read here: ${JSON.stringify(clause)}`)
}

const countsOf = (rows: readonly Row[]): ListCounts => ({
  countByTime: async (span, stepMs) => {
    const counts = new Map<number, number>()
    for (const { atMs } of rows) {
      if (span !== undefined && (atMs < span.fromMs || atMs > span.toMs)) continue
      const startMs = Math.floor(atMs / stepMs) * stepMs
      counts.set(startMs, (counts.get(startMs) ?? 0) + 1)
    }
    return [...counts].sort(([a], [b]) => b - a).map(([startMs, count]) => ({ startMs, count }))
  },
  countEach: async ({ fromMs, toMs }, clauses) => {
    const within = rows.filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
    return clauses.map((clause) => within.filter((row) => finds(clause, row)).length)
  },
})

const rowsIn = (rows: readonly Row[], stretch: Stretch | undefined): Row[] => {
  if (stretch === undefined) throw new Error('no stretch for a row that is there')
  return newestFirst(rows.filter((row) => finds(stretch.clause, row)))
}

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

test('whatever is in a list, every page is found, and few rows are passed over', async () => {
  await fc.assert(
    fc.asyncProperty(lists, fc.nat(), fc.integer({ min: 1, max: 100 }), async (rows, number, limit) => {
      const offset = number % rows.length
      const { total, stretch } = await findPage(countsOf(rows), offset, limit)
      expect(total).toBe(rows.length)
      const skip = stretch?.skip ?? 0
      expect(rowsIn(rows, stretch).slice(skip, skip + limit)).toEqual(newestFirst(rows).slice(offset, offset + limit))
      expect(skip).toBeLessThanOrEqual(100)
    }),
    { numRuns: 100 },
  )
})

test('a stretch ends soon after its page, however long the list goes on', async () => {
  const rows = Array.from({ length: 20_000 }, (_, number) => ({ atMs: number * 900_000, id: `s${number}` }))
  for (const offset of [0, 150, 1_000, 8_639, 12_345, 19_990]) {
    const { stretch } = await findPage(countsOf(rows), offset, 20)
    expect(rowsIn(rows, stretch).length).toBeLessThan(1_300)
  }
})

test('a page past the end is nowhere, and the total is told all the same', async () => {
  expect(await findPage(countsOf([]), 0, 20)).toEqual({ total: 0, stretch: undefined })
  const rows = [{ atMs: 5, id: 'a' }]
  expect(await findPage(countsOf(rows), Number.MAX_SAFE_INTEGER, 20)).toEqual({ total: 1, stretch: undefined })
})

test('a thousand rows of one millisecond, some ids beginning with others', async () => {
  const ids = Array.from({ length: 500 }, (_, number) => [`s${number}`, `s${number}.x`]).flat()
  const rows = ids.map((each) => ({ atMs: 1_000, id: each }))
  for (const offset of [0, 100, 101, 499, 777, 999]) {
    const { stretch } = await findPage(countsOf(rows), offset, 1)
    expect(rowsIn(rows, stretch)[stretch?.skip ?? 0]).toEqual(newestFirst(rows)[offset])
  }
})
