import { zipf } from '../../../../tools/bench/zipf.ts'

test('shares of the whole fall with the rank', () => {
  // 1, 1/2 and 1/3 are six, three and two elevenths of their sum.
  const { rankAt } = zipf(3, 1)
  const ranks = Array.from({ length: 11 }, (_, at) => rankAt((at + 0.5) / 11))
  expect(ranks).toEqual([0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2])
  expect([rankAt(0), rankAt(0.999_999)]).toEqual([0, 2])
})

test('sizes add up and never grow with the rank by more than what rounding moves', () => {
  const sizes = zipf(250, 0.8).sizes(50_000)
  expect(sizes).toHaveLength(250)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(50_000)
  expect(sizes[0]).toBeGreaterThan(40 * (sizes[125] ?? Number.POSITIVE_INFINITY))
  expect(sizes.every((size, rank) => rank === 0 || size <= (sizes[rank - 1] ?? 0) + 1)).toBe(true)
})
