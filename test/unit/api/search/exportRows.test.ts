import fc from 'fast-check'
import { readParts, readWholeEntities } from '../../../../src/api/search/exportRows.ts'
import type { RowKey } from '../../../../src/api/search/hits.ts'
import type { SearchClient, SearchRequest } from '../../../../src/api/search/searchClient.ts'
import type { EntityId, TeamId } from '../../../../src/core/model/ids.ts'
import { largeBytes } from '../../../../src/core/stores/renderDocuments.ts'

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

  test('have at most 4 MiB or one row, whatever rows weigh, and at most the bytes that they were said to have', async () => {
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

  test('have 100 rows, later ones about half a megabyte, and no more than 256 rows', async () => {
    expect((await partsOf(Array(600).fill(100))).map(({ rows }) => rows)).toEqual([100, 256, 244])
    expect((await partsOf(Array(500).fill(4_096))).map(({ rows }) => rows)).toEqual([100, 128, 128, 128, 16])
  })

  test('hold no fewer of the other rows where some are large', async () => {
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
      const state = stateOf(name.slice('t/'.length), asked)
      const begin = `{"_index":"p-form-details-v1-1","_id":"${name}"`
      if (state === 'not yet') return `${begin},"found":false}`
      const source = state === 'deleted' ? { tombstone: {} } : { id: name }
      return `${begin},"_version":3,"found":true,"_source":${JSON.stringify(source)}}`
    }
    const hits = Object.entries(bytesOf).map(([id, bytes]) => {
      return { sort: ['t', `2026-03-01T10:00:00.000Z|${id}`], fields: { 'large.detailBytes': [String(bytes)] } }
    })
    const weights = JSON.stringify({ timed_out: false, _shards: { failed: 0 }, hits: { hits } })
    const send = async ({ path, body }: SearchRequest): Promise<{ isFound: boolean; bytes: Buffer }> => {
      if (!path.endsWith('/_mget')) return { isFound: true, bytes: Buffer.from(weights) }
      asked++
      const { ids: names } = body as { ids: readonly string[] }
      return { isFound: true, bytes: Buffer.from(`{"docs":[${names.map(document).join(',')}]}`) }
    }
    const client: SearchClient = { indexPrefix: 'p', send }
    const { signal } = new AbortController()
    const keys = pages.map((page) => keysOf(page))
    const list = { type: 'forms', teamId: 't' as TeamId } as const
    const parts: string[][] = []
    for await (const part of readWholeEntities(client, list, keys, (query) => query(signal)))
      parts.push(part.map((row) => (JSON.parse(row.toString()) as { id: string }).id.slice('t/'.length)))
    return parts
  }

  test('come in the order of their ids, also when some are found only later', async () => {
    const lateBy: Readonly<Record<string, number>> = { b: 3, d: 2, e: 3 }
    const stateOf = (id: string, asked: number): State => ((lateBy[id] ?? 1) <= asked ? 'here' : 'not yet')
    expect((await exported([ids.slice(0, 2), ids.slice(2)], { stateOf })).flat()).toEqual(ids)
  })

  test('come in parts of bounded bytes, also behind a part of which all were deleted', async () => {
    const bytesOf = { b: 900_000, c: 900_000, d: 700_000 }
    const stateOf = (id: string): State => (id === 'c' ? 'deleted' : 'here')
    expect(await exported([ids], { stateOf, bytesOf })).toEqual([['a'], ['b'], ['d'], ['e', 'f']])
  })
})
