import { deepPagesOf } from '../../../../../tools/bench/scale/comparisons.ts'

test('deep pages begin at row 1,000 or later and end with the list', () => {
  const pages = deepPagesOf(2_000)
  expect(pages.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 50 }, (_, index) => 51 + index))
  const many = deepPagesOf(250_000)
  expect(many).toHaveLength(400)
  expect(Math.min(...many)).toBeGreaterThan(50)
  expect(Math.max(...many)).toBeLessThanOrEqual(12_500)
})
