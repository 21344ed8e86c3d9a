import fc from 'fast-check'
import { type WalkedSnapshot, walkList } from '../../../../src/api/search/walkList.ts'
import type { EntityId } from '../../../../src/core/model/ids.ts'
import { countsOf, finds, newestFirst, positionOf, type Row } from '../../../support/rows.ts'

const { signal } = new AbortController()

/** A snapshot of rows in memory, and how many rows each search of it collects. */
function snapshotOf(rows: readonly Row[], collected: number[] = []): WalkedSnapshot {
  const inOrder = newestFirst(rows)
  return {
    countsOf: () => countsOf(rows),
    keys: async (_filter, { clause }, limit, _signal, after) => {
      const found = inOrder.filter((row) => finds(clause, row))
      collected.push(found.length)
      const from = after === undefined ? 0 : found.findIndex((row) => positionOf(row) === after[0]) + 1
      const page = found.slice(from, from + limit)
      const keys = page.map((row) => ({ position: positionOf(row), id: row.id as EntityId, bytes: undefined }))
      return { found: keys, last: keys.length === 0 ? undefined : [keys.at(-1)?.position], total: found.length }
    },
  }
}

async function walked(snapshot: WalkedSnapshot, limit: number): Promise<string[]> {
  const ids: string[] = []
  for await (const keys of walkList(snapshot, [[]], limit, (query) => query(signal))) {
    expect(keys.length).toBeLessThanOrEqual(limit)
    ids.push(...keys.map(({ id }) => id))
  }
  return ids
}

const idsOf = (rows: readonly Row[]): string[] => newestFirst(rows).map(({ id }) => id)

const at = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(0, 1_772_359_200_000) },
  { weight: 4, arbitrary: fc.integer({ min: 1_772_359_200_000, max: 1_772_359_200_900 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1_772_359_200_000, max: 1_780_000_000_000 }) },
  { weight: 1, arbitrary: fc.integer({ min: -62_167_219_200_000, max: 253_402_300_799_999 }) },
)

test('whatever is in a list, a walk holds each row once, newest first', async () => {
  const lists = fc
    .array(at, { maxLength: 300, size: 'max' })
    .map((times) => times.map((atMs, id) => ({ atMs, id: `s${id}` })))
  await fc.assert(
    fc.asyncProperty(lists, fc.integer({ min: 1, max: 120 }), async (rows, limit) => {
      expect(await walked(snapshotOf(rows), limit)).toEqual(idsOf(rows))
    }),
    { numRuns: 100 },
  )
})

test('a search collects about as many rows as are wanted, however many are behind them', async () => {
  const rows = Array.from({ length: 20_000 }, (_, number) => ({ atMs: number * 900_000, id: `s${number}` }))
  const collected: number[] = []
  expect(await walked(snapshotOf(rows, collected), 500)).toHaveLength(rows.length)
  expect(Math.max(...collected)).toBeLessThan(2_000)
  expect(collected.length).toBeLessThan(60)
})

test('years without a row cost few searches', async () => {
  const moments = [0, 1, 400_000_000_000, 1_700_000_000_000]
  const rows = moments.flatMap((startMs) =>
    Array.from({ length: 300 }, (_, ms) => ({ atMs: startMs + ms, id: `${startMs}-${ms}` })),
  )
  const collected: number[] = []
  expect(await walked(snapshotOf(rows, collected), 100)).toEqual(idsOf(rows))
  expect(collected.length).toBeLessThan(80)
})

test('a list of which fewer rows are found than were counted is not taken for the whole one', async () => {
  const rows = Array.from({ length: 10 }, (_, number) => ({ atMs: number, id: `s${number}` }))
  const snapshot = { ...snapshotOf(rows.slice(1)), countsOf: () => countsOf(rows) }
  await expect(walked(snapshot, 4)).rejects.toMatchObject({ reason: 'partial' })
})
