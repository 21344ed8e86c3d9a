import { fullestShard, largestShare } from '../../../../../tools/bench/sizing/placement.ts'

test('one shard holds everything, and the fullest of many no less than the largest team', () => {
  expect(fullestShard(100, 0.8, 1)).toBeCloseTo(1)
  expect(fullestShard(10_000, 0.8, 64)).toBeGreaterThan(largestShare(10_000, 0.8))
})

test('teams of one size lie almost evenly, uneven ones do not', () => {
  expect(fullestShard(10_000, 0, 10)).toBeLessThan(0.12)
  expect(fullestShard(10_000, 1, 10)).toBeGreaterThan(0.15)
})

test('the same at every call', () => {
  expect(fullestShard(1_000, 0.8, 16)).toBe(fullestShard(1_000, 0.8, 16))
})
