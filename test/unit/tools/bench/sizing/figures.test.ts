import { bytes, duration, rounded } from '../../../../../tools/bench/sizing/figures.ts'

test('three digits that count', () => {
  expect([0.012345, 9.876, 1_234, 1_234_567].map(rounded)).toEqual(['0.0123', '9.88', '1,230', '1,230,000'])
})

test('bytes and times come in the unit that fits', () => {
  expect([0, 12, 1_500, 2.5e9, 3.21e12, 4e15].map(bytes)).toEqual([
    '0 B',
    '12 B',
    '1.5 KB',
    '2.5 GB',
    '3.21 TB',
    '4,000 TB',
  ])
  expect([90, 600, 7_200, 86_400, 864_000].map(duration)).toEqual(['90 s', '10 min', '2 h', '24 h', '10 days'])
})
