import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { KeyRange, ListCounts } from '../../../../src/api/search/listSnapshot.ts'
import { countRows, rangeOfPage, rangesOfRows } from '../../../../src/api/search/rowRanges.ts'
import { countsOf, finds, newestFirst, type Row } from '../../../support/rows.ts'

const rowsIn = (rows: readonly Row[], range: KeyRange | undefined): Row[] => {
  if (range === undefined) throw new Error('no range for a row that is there')
  return newestFirst(rows.filter((row) => finds(range.clause, row)))
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
const listsUpTo = (maxLength: number): fc.Arbitrary<Row[]> =>
  fc
    .uniqueArray(fc.record({ atMs: at, id }), { maxLength, size: 'max', selector: ({ id }) => id })
    .filter((rows) => rows.length > 0)

test('every page of any list is found, and few rows are skipped', async () => {
  await fc.assert(
    fc.asyncProperty(listsUpTo(700), fc.nat(), fc.integer({ min: 1, max: 100 }), async (rows, number, limit) => {
      const offset = number % rows.length
      const { total, range } = await rangeOfPage(countsOf(rows), offset, limit)
      expect(total).toBe(rows.length)
      const skip = range?.skip ?? 0
      expect(rowsIn(rows, range).slice(skip, skip + limit)).toEqual(newestFirst(rows).slice(offset, offset + limit))
      expect(skip).toBeLessThanOrEqual(100)
    }),
    // To find a shorter list that fails would take longer than anybody waits.
    { numRuns: 100, endOnFailure: true },
  )
})

test('a range ends soon after its page, however long the list goes on', async () => {
  const rows = Array.from({ length: 20_000 }, (_, number) => ({ atMs: number * 900_000, id: `s${number}` }))
  for (const offset of [0, 150, 1_000, 8_639, 12_345, 19_990]) {
    const { range } = await rangeOfPage(countsOf(rows), offset, 20)
    expect(rowsIn(rows, range).length).toBeLessThan(1_300)
  }
})

type Part = { readonly rows: readonly Row[]; readonly count: number }
async function partsOf(rows: readonly Row[], limit: number): Promise<Part[]> {
  const parts: Part[] = []
  for await (const { clause, count } of rangesOfRows(countsOf(rows), limit))
    parts.push({ rows: newestFirst(rows.filter((row) => finds(clause, row))), count })
  return parts
}

test('the parts of any list have each row once, newest first, and no part exceeds its bound', async () => {
  await fc.assert(
    fc.asyncProperty(listsUpTo(100), fc.integer({ min: 1, max: 60 }), async (rows, limit) => {
      const parts = await partsOf(rows, limit)
      expect(parts.flatMap((part) => part.rows)).toEqual(newestFirst(rows))
      expect(parts.map(({ count }) => count)).toEqual(parts.map((part) => part.rows.length))
      expect(Math.max(...parts.map(({ count }) => count))).toBeLessThanOrEqual(limit)
      expect(await countRows(countsOf(rows))).toBe(rows.length)
    }),
    { numRuns: 100, endOnFailure: true },
  )
})

test('parts are nearly as large as their bound, and an empty list has none', async () => {
  const rows = Array.from({ length: 5_000 }, (_, number) => ({ atMs: number * 900_000, id: `s${number}` }))
  expect((await partsOf(rows, 500)).length).toBeLessThanOrEqual(12)
  // Twelve in each of twenty times three hours.
  expect((await partsOf(rows.slice(0, 240), 24)).map(({ count }) => count)).toEqual(Array(10).fill(24))
  expect(await partsOf(rows, 10_000)).toHaveLength(1)
  expect(await partsOf([], 500)).toEqual([])
})

test('an id that is a prefix of others is in one part', async () => {
  const rows = ['a', 'aa', 'aab', 'ab', 'b'].map((id) => ({ atMs: 1_000, id }))
  const parts = await partsOf(rows, 1)
  expect(parts.map((part) => part.rows.map(({ id }) => id))).toEqual([['b'], ['ab'], ['aab'], ['aa'], ['a']])
})

test('after the end of a list there is no range, and at its end a shorter one', async () => {
  const rows = [3, 2, 1].map((atMs) => ({ atMs, id: `s${atMs}` }))
  expect(await rangeOfPage(countsOf(rows), 3, 20)).toEqual({ total: 3 })
  const { range } = await rangeOfPage(countsOf(rows), 2, 20)
  expect(rowsIn(rows, range).slice(range?.skip)).toEqual([{ atMs: 1, id: 's1' }])
})

test('counts that change within a snapshot are an error', async () => {
  const counts = countsOf([1, 2, 3].map((number) => ({ atMs: 1, id: `s${number}` })))
  let isLater = false
  const countByTime: ListCounts['countByTime'] = async (span, stepMs) => {
    const steps = await counts.countByTime(span, stepMs)
    const [first] = steps
    if (isLater || first === undefined) return []
    isLater = true
    return [{ ...first, count: 3_000 }]
  }
  await expect(rangeOfPage({ ...counts, countByTime }, 2_000, 20)).rejects.toThrow('do not add up')
})

const tiesOf = (count: number, idOf: (number: number) => string): Row[] =>
  Array.from({ length: count }, (_, number) => ({ atMs: 1_000, id: idOf(number) }))
const older = Array.from({ length: 1_500 }, (_, number) => ({ atMs: 999 - number, id: `older-${number}` }))

test.each<[string, (number: number) => string]>([
  ['numbers', (number) => `s-${String(number).padStart(9, '0')}`],
  ['numbers of any length', (number) => `${number}`],
  ['random ids', (number) => createHash('sha1').update(`${number}`).digest('hex')],
  ['a few that differ late', (number) => (number < 3_000 ? `a${number}` : `b${'-'.repeat(100)}${number}`)],
])('a read of 5,000 rows of one millisecond collects each row only a few times: %s', async (_, idOf) => {
  const rows = newestFirst([...tiesOf(5_000, idOf), ...older])
  let collected = 0
  for (let offset = 0; offset < rows.length; offset += 500) {
    const { range } = await rangeOfPage(countsOf(rows), offset, 500)
    const found = rowsIn(rows, range)
    expect(found.slice(range?.skip, (range?.skip ?? 0) + 500)).toEqual(rows.slice(offset, offset + 500))
    expect(found.length).toBeLessThanOrEqual(2_500)
    collected += found.length
  }
  expect(collected).toBeLessThanOrEqual(4 * rows.length)
})

test('a page that ends among many rows of one millisecond has a range that ends there, too', async () => {
  const rows = newestFirst([...tiesOf(6_000, (number) => `s${number}`), { atMs: 200_000_000, id: 'alone' }])
  const { range } = await rangeOfPage(countsOf(rows), 0, 20)
  expect(rowsIn(rows, range).slice(0, 20)).toEqual(rows.slice(0, 20))
  expect(rowsIn(rows, range).length).toBeLessThanOrEqual(2_020)
})

test('a common prefix of all ids takes no extra search', async () => {
  const rows = tiesOf(5_000, (number) => `${'long-name-of-an-import.'.repeat(5)}${number}`)
  let questions = 0
  const counts = new Proxy(countsOf(rows), {
    get: (all, name: keyof ListCounts) => {
      questions++
      return all[name]
    },
  })
  await rangeOfPage(counts, 3_210, 20)
  expect(questions).toBeLessThanOrEqual(16)
})
