import fc from 'fast-check'
import { PartSize, readParts } from '../../../../src/api/search/parts.ts'
import { largeBytes } from '../../../../src/core/stores/documents.ts'

const mebibyte = 1024 * 1024

/** How many rows of these bytes are read together, part by part, and how many bytes they have. */
async function partsOf(sizes: readonly number[]): Promise<{ rows: number; bytes: number; most: number }[]> {
  const parts: { rows: number; bytes: number; most: number }[] = []
  const weights = sizes.map((bytes) => (bytes > largeBytes ? bytes : undefined))
  const read = async (some: readonly number[], most: number): Promise<readonly Buffer[]> => {
    parts.push({ rows: some.length, bytes: some.reduce((sum, bytes) => sum + bytes, 0), most })
    return some.map((bytes) => Buffer.alloc(bytes))
  }
  for await (const _ of readParts(sizes, weights, new PartSize(), read));
  return parts
}

test('whatever rows weigh, a part has at most 4 MiB or one row, and at most the bytes that it was said to have', async () => {
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

test('the first part has 100 rows; later ones about half a megabyte, and no more than 256 rows', async () => {
  expect((await partsOf(Array(600).fill(100))).map(({ rows }) => rows)).toEqual([100, 256, 244])
  expect((await partsOf(Array(500).fill(4_096))).map(({ rows }) => rows)).toEqual([100, 128, 128, 128, 16])
})

test('large rows are no reason to read few of the others together', async () => {
  const [first, large, ...later] = await partsOf([...Array(100).fill(4_096), mebibyte, ...Array(128).fill(4_096)])
  expect([first?.rows, large?.rows, later.map(({ rows }) => rows)]).toEqual([100, 1, [128]])
})
