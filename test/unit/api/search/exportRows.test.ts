import { jest } from '@jest/globals'
import fc from 'fast-check'
import {
  inSnapshot,
  type KeySnapshot,
  keysInBatches,
  readWholeEntities,
} from '../../../../src/api/search/exportRows.ts'
import type { RowKey } from '../../../../src/api/search/hits.ts'
import { readParts } from '../../../../src/api/search/largeRows.ts'
import { largeBytes } from '../../../../src/core/elasticsearch/documentFormat.ts'
import type { EntityId } from '../../../../src/core/model/ids.ts'
import { askedList, searchAnswer } from '../../../support/askedList.ts'
import { countsOf, finds, newestFirst, positionOf, type Row } from '../../../support/rows.ts'

const { signal } = new AbortController()
const mebibyte = 1024 * 1024
const keysOf = (ids: readonly string[], bytes: readonly (number | undefined)[] = []): RowKey[] =>
  ids.map((id, at) => ({ id: id as EntityId, position: id, bytes: bytes[at] }))

describe('parts', () => {
  /** How many rows of these bytes are read together, part by part, and how many bytes they have. */
  async function partsOf(sizes: readonly number[]): Promise<{ rows: number; bytes: number; most: number }[]> {
    const parts: { rows: number; bytes: number; most: number }[] = []
    const weights = sizes.map((bytes) => (bytes > largeBytes ? bytes : undefined))
    const keys = keysOf(sizes.map(String), weights)
    const read = async (some: readonly RowKey[], most: number): Promise<readonly Buffer[]> => {
      const rows = some.map(({ id }) => Buffer.alloc(Number(id)))
      parts.push({ rows: some.length, bytes: Buffer.concat(rows).length, most })
      return rows
    }
    for await (const _ of readParts([keys], read));
    return parts
  }

  test('have at most 4 MiB or one row, and at most the bytes that were reserved for them', async () => {
    const size = fc.oneof(fc.integer({ min: 2, max: largeBytes }), fc.integer({ min: 2, max: 5 * mebibyte }))
    await fc.assert(
      fc.asyncProperty(fc.array(size, { maxLength: 60 }), async (sizes) => {
        const parts = await partsOf(sizes)
        expect(parts.reduce((sum, { rows }) => sum + rows, 0)).toBe(sizes.length)
        for (const { rows, bytes, most } of parts) {
          expect(bytes).toBeLessThanOrEqual(most)
          expect(rows === 1 || most <= 4 * mebibyte).toBe(true)
        }
      }),
      { numRuns: 50 },
    )
  })

  test('have first 100 rows, later about half a megabyte, and at most 256 rows', async () => {
    expect((await partsOf(Array(600).fill(100))).map(({ rows }) => rows)).toEqual([100, 256, 244])
    expect((await partsOf(Array(500).fill(4_096))).map(({ rows }) => rows)).toEqual([100, 128, 128, 128, 16])
  })

  test('have as many small rows after a large row as before it', async () => {
    const [first, large, ...later] = await partsOf([...Array(100).fill(4_096), mebibyte, ...Array(128).fill(4_096)])
    expect([first?.rows, large?.rows, later.map(({ rows }) => rows)]).toEqual([100, 1, [128]])
  })
})

describe('whole entities', () => {
  const ids = ['a', 'b', 'c', 'd', 'e', 'f']
  type State = 'here' | 'not yet' | 'deleted'
  type Stored = {
    /** What Elasticsearch has of an entity when it is asked for details so many times. */
    stateOf?(id: string, asked: number): State
    /** How many bytes the large ones have. */
    readonly bytesOf?: Readonly<Record<string, number>>
  }

  /** The parts that are exported of these pages of ids, each row by its id. */
  async function exported(pages: readonly (readonly string[])[], { stateOf = () => 'here', bytesOf = {} }: Stored) {
    let asked = 0
    const document = (name: string): string => {
      const state = stateOf(name.slice('team-1/'.length), asked)
      const begin = `{"_index":"tidemark-form-details-v1-1","_id":"${name}"`
      if (state === 'not yet') return `${begin},"found":false}`
      const source = state === 'deleted' ? { tombstone: {} } : { id: name }
      return `${begin},"_version":3,"found":true,"_source":${JSON.stringify(source)}}`
    }
    const hits = Object.entries(bytesOf).map(([id, bytes]) => {
      return { sort: ['team-1', `2026-03-01T10:00:00.000Z|${id}`], fields: { 'large.detailBytes': [String(bytes)] } }
    })
    const { list } = askedList(({ path, body }) => {
      if (!path.endsWith('/_mget')) return searchAnswer({ hits, total: { value: hits.length, relation: 'eq' } })
      asked++
      const { ids: names } = body as { ids: readonly string[] }
      return `{"docs":[${names.map(document).join(',')}]}`
    })
    const keys = pages.map((page) => keysOf(page))
    const parts: string[][] = []
    for await (const part of readWholeEntities(list, keys, (query) => query(signal)))
      parts.push(part.map((row) => (JSON.parse(row.toString()) as { id: string }).id.slice('team-1/'.length)))
    return parts
  }

  test('come in the order of their ids, also if some are found only on a second try', async () => {
    const lateBy: Readonly<Record<string, number>> = { b: 3, d: 2, e: 3 }
    const stateOf = (id: string, asked: number): State => ((lateBy[id] ?? 1) <= asked ? 'here' : 'not yet')
    expect((await exported([ids.slice(0, 2), ids.slice(2)], { stateOf })).flat()).toEqual(ids)
  })

  test('come in parts of bounded bytes, also after a part whose entities were all deleted', async () => {
    const bytesOf = { b: 900_000, c: 900_000, d: 700_000 }
    const stateOf = (id: string): State => (id === 'c' ? 'deleted' : 'here')
    expect(await exported([ids], { stateOf, bytesOf })).toEqual([['a'], ['b'], ['d'], ['e', 'f']])
  })
})

test('a snapshot is kept alive while its reader pauses, also after a refusal, and no longer once the reader goes on or leaves', async () => {
  jest.useFakeTimers()
  try {
    for (const isLeft of [false, true]) {
      const { list, asked } = askedList(({ path }) => {
        if (path === '/_search') throw new Error('refused')
        return JSON.stringify({ id: 'pit' })
      })
      const parts = inSnapshot(
        list,
        (send) => send(signal),
        async function* () {
          yield* [1, 2]
        },
        100_000,
      )
      await parts.next()
      await jest.advanceTimersByTimeAsync(1_000_000)
      const searches = () => asked.filter(({ path }) => path === '/_search').length
      expect(searches()).toBe(40)
      if (isLeft) await parts.return()
      else for await (const _ of parts);
      expect(asked.at(-1)).toMatchObject({ method: 'DELETE', path: '/_pit' })
      await jest.advanceTimersByTimeAsync(1_000_000)
      expect(searches()).toBe(40)
    }
  } finally {
    jest.useRealTimers()
  }
})

/** A snapshot of rows in memory, and how many rows each search of it collects. */
function snapshotOf(rows: readonly Row[], collected: number[] = []): KeySnapshot {
  const inOrder = newestFirst(rows)
  return {
    countsOf: () => countsOf(rows),
    keys: async (_filter, { clause, skip }, limit) => {
      const found = inOrder.filter((row) => finds(clause, row))
      collected.push(found.length)
      const page = found.slice(skip, skip + limit)
      return page.map((row) => ({ position: positionOf(row), id: row.id as EntityId, bytes: undefined }))
    },
  }
}

async function walked(snapshot: KeySnapshot, limit: number): Promise<string[]> {
  const ids: string[] = []
  for await (const keys of keysInBatches(snapshot, [], limit, (query) => query(signal))) {
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

test('an export of any list has each row once, newest first', async () => {
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

test('a search collects about as many rows as needed, however many follow', async () => {
  const rows = Array.from({ length: 20_000 }, (_, number) => ({ atMs: number * 900_000, id: `s${number}` }))
  const collected: number[] = []
  expect(await walked(snapshotOf(rows, collected), 500)).toHaveLength(rows.length)
  expect(Math.max(...collected)).toBeLessThan(2_000)
  expect(collected.length).toBeLessThan(60)
})

test('years without a row take few searches', async () => {
  const moments = [0, 1, 400_000_000_000, 1_700_000_000_000]
  const rows = moments.flatMap((startMs) =>
    Array.from({ length: 300 }, (_, ms) => ({ atMs: startMs + ms, id: `${startMs}-${ms}` })),
  )
  const collected: number[] = []
  expect(await walked(snapshotOf(rows, collected), 100)).toEqual(idsOf(rows))
  expect(collected.length).toBeLessThan(80)
})

test('an export fails if fewer rows are found than were counted', async () => {
  const rows = Array.from({ length: 10 }, (_, number) => ({ atMs: number, id: `s${number}` }))
  const snapshot = { ...snapshotOf(rows.slice(1)), countsOf: () => countsOf(rows) }
  await expect(walked(snapshot, 4)).rejects.toMatchObject({ reason: 'partial' })
})
