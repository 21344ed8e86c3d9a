import { count, duration, size } from '../../../../indexer/status/statusPage.ts'

test.each([
  [0, '0 s'],
  [1.29, '1.2 s'],
  [9.99, '9.9 s'],
  [10, '10 s'],
  [119.9, '119 s'],
  [120, '2 min'],
  [7_199, '119 min'],
  [7_200, '2 h'],
  [172_800, '2 days'],
])('%d seconds are %s', (seconds, words) => {
  expect(duration(seconds)).toBe(words)
})

test.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_024, '1.0 KiB'],
  [150 * 1_024, '150 KiB'],
  [67_108_864, '64.0 MiB'],
  [3 * 1_024 ** 4, '3.0 TiB'],
])('%d bytes are %s', (bytes, words) => {
  expect(size(bytes)).toBe(words)
})

test('numbers are grouped', () => {
  expect(count(1_234_567)).toBe('1,234,567')
})
