import { percentile, ratiosByRound, spreadOf } from '../../../../tools/bench/report.ts'

test('a percentile is one of the values: the smallest that so many do not exceed', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => 100 - index)
  expect([0.01, 0.5, 0.99, 1].map((rank) => percentile(hundred, rank))).toEqual([1, 50, 99, 100])
  expect(percentile([7], 0.5)).toBe(7)
  expect(percentile([10, 9], 0.99)).toBe(10)
})

test('a spread has the middle value, or the mean of the middle two, and both ends', () => {
  expect(spreadOf([9, 10, 1])).toEqual({ median: 9, min: 1, max: 10 })
  expect(spreadOf([4, 1, 2, 30])).toEqual({ median: 3, min: 1, max: 30 })
})

test('nothing measured has no figures', () => {
  expect(() => percentile([], 0.5)).toThrow('nothing was measured')
  expect(() => spreadOf([])).toThrow('nothing was measured')
})

test('ratios are taken round by round', () => {
  expect(ratiosByRound([3, 20], [2, 10])).toEqual([1.5, 2])
  expect(() => ratiosByRound([1], [1, 2])).toThrow('the same rounds')
})
