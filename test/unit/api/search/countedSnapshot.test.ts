import fc from 'fast-check'
import type { CountableSnapshot } from '../../../../src/api/search/countedSnapshot.ts'
import { CountedSnapshot, createCountCache } from '../../../../src/api/search/countedSnapshot.ts'
import { askedOf, countsOf, finds, newestFirst, type Row } from '../../../support/rows.ts'

const { signal } = new AbortController()

/** A snapshot of rows in memory, and what it is asked. */
function snapshotOf(rows: readonly Row[], asked: string[]): CountableSnapshot {
  const inRange: CountableSnapshot['rows'] = async (_filter, { clause, skip }, limit) =>
    newestFirst(rows.filter((row) => finds(clause, row)))
      .slice(skip, skip + limit)
      .map(({ id }) => Buffer.from(id))
  return {
    countsOf: () => askedOf(countsOf(rows), () => asked.push('count')),
    rows: (...question) => {
      asked.push('rows')
      return inRange(...question)
    },
    hasLarge: async () => false,
    weights: async () => [],
    survey: async (filter, range, limit) => {
      asked.push('survey')
      return {
        total: rows.length,
        before: rows.filter((row) => finds(range.newer, row)).length,
        rows: await inRange(filter, range, limit, signal),
      }
    },
  }
}

const idsOf = (rows: readonly (Row | Buffer)[]): string[] =>
  rows.map((row) => (Buffer.isBuffer(row) ? row.toString() : row.id))
const pageOf = (rows: readonly Row[], offset: number, limit: number): string[] =>
  idsOf(newestFirst(rows).slice(offset, offset + limit))

/** A list in each of its states, whose pages are read as they come. */
function reader() {
  const countCache = createCountCache(1_000_000)
  let opened = 0
  return (rows: readonly Row[]) => {
    const asked: string[] = []
    const name = String(++opened)
    const snapshot = new CountedSnapshot(snapshotOf(rows, asked), countCache, { name, list: 'list' })
    return async (offset: number, limit: number) => {
      asked.length = 0
      const found = await snapshot.page([], { offset, limit }, signal)
      return { total: found.total, ids: idsOf(found.rows), asked: [...asked] }
    }
  }
}

const dayMs = 86_400_000
const newestMs = Date.UTC(2026, 0, 1)
const longList = Array.from({ length: 5_000 }, (_, number) => ({
  atMs: newestMs - number * 600_000,
  id: `s${number}`,
}))
const added = (count: number): Row[] =>
  Array.from({ length: count }, (_, number) => ({ atMs: newestMs + dayMs + number * 1_000, id: `new-${number}` }))

test('a page of a list to which a little was added is found with one question, again and again', async () => {
  const open = reader()
  await open(longList)(3_000, 20)
  let rows: readonly Row[] = longList
  for (const count of [3, 9, 17, 26]) {
    rows = [...added(count), ...longList]
    const { asked, ...found } = await open(rows)(3_000, 20)
    expect(found).toEqual({ total: rows.length, ids: pageOf(rows, 3_000, 20) })
    expect(asked).toEqual(['survey'])
  }
})

test('where more was added than is spared, the first look says how much', async () => {
  const open = reader()
  await open(longList)(3_000, 20)
  const rows = [...added(60), ...longList]
  const { asked, ...found } = await open(rows)(3_000, 20)
  expect(found).toEqual({ total: rows.length, ids: pageOf(rows, 3_000, 20) })
  expect(asked).toEqual(['survey', 'survey'])
})

test('a list of which little is left is counted anew', async () => {
  const open = reader()
  await open(longList)(3_000, 20)
  const rows = longList.filter((_, number) => number % 3 === 0)
  const { asked, ...found } = await open(rows)(1_600, 20)
  expect(found).toEqual({ total: rows.length, ids: pageOf(rows, 1_600, 20) })
  expect(asked).toContain('count')
})

test('the same page of the same snapshot is one question', async () => {
  const read = reader()(longList)
  await read(3_000, 20)
  expect(await read(3_000, 20)).toEqual({ total: 5_000, ids: pageOf(longList, 3_000, 20), asked: ['rows'] })
})

test('whoever reads one snapshot on and on never asks again for what was counted in it', async () => {
  const years = Array.from({ length: 1_500 }, (_, number) => ({
    atMs: newestMs - (number * dayMs) / 6,
    id: `s${number}`,
  }))
  const read = reader()(years)
  const asked: string[] = []
  for (let offset = 0; offset < years.length; offset += 7) {
    const page = await read(offset, 7)
    expect(page.ids).toEqual(pageOf(years, offset, 7))
    asked.push(...page.asked)
  }
  expect(asked).not.toContain('survey')
})

test('a page past the end has no rows, also of a list that became shorter', async () => {
  const open = reader()
  await open(longList)(4_990, 20)
  const rows = longList.slice(0, 4_985)
  expect(await open(rows)(4_990, 20)).toMatchObject({ total: 4_985, ids: [] })
  expect(await open(rows)(4_980, 20)).toMatchObject({ total: 4_985, ids: pageOf(rows, 4_980, 20) })
})

test('however a list changes between two readers, each page holds the rows that stand there', async () => {
  const at = fc.oneof(
    fc.integer({ min: newestMs - 300 * dayMs, max: newestMs }),
    fc.constantFrom(newestMs - dayMs, newestMs),
  )
  const change = fc.record({
    added: fc.array(at, { maxLength: 30 }),
    removed: fc.array(fc.nat(), { maxLength: 30 }),
    pages: fc.array(fc.tuple(fc.nat(), fc.integer({ min: 1, max: 100 })), { minLength: 1, maxLength: 3 }),
  })
  const firstRows = fc.array(at, { minLength: 200, maxLength: 800, size: 'max' })
  await fc.assert(
    fc.asyncProperty(firstRows, fc.array(change, { minLength: 1, maxLength: 6 }), async (times, changes) => {
      let made = 0
      const rowsAt = (some: readonly number[]): Row[] => some.map((atMs) => ({ atMs, id: `s${made++}` }))
      let rows = rowsAt(times)
      const open = reader()
      for (const { added: more, removed, pages } of changes) {
        const gone = new Set(removed.map((number) => rows[number % rows.length]))
        rows = [...rows.filter((row) => !gone.has(row)), ...rowsAt(more)]
        const read = open(rows)
        for (const [number, limit] of pages) {
          const offset = number % (rows.length + 20)
          const { asked: _, ...found } = await read(offset, limit)
          expect(found).toEqual({ total: rows.length, ids: pageOf(rows, offset, limit) })
        }
      }
    }),
    { numRuns: 60 },
  )
})
