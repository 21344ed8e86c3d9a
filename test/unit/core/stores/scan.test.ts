import { nextSize } from '../../../../src/core/stores/scan.ts'

test('a part grows to a megabyte, by its double at most', () => {
  expect(nextSize(10, 30_000)).toBe(20)
  expect(nextSize(200, 200 * 8_192)).toBe(128)
})

test('a part of large documents is followed by a small one', () => {
  expect(nextSize(100, 100 * 1024 * 1024)).toBe(1)
  expect(nextSize(1, 8 * 1024 * 1024)).toBe(1)
})
