import { Pace } from '../../../../src/core/model/pace.ts'

/** The rate after values at times (s). */
function rateOf(...notes: readonly (readonly [atSeconds: number, value: number])[]): number | undefined {
  const pace = new Pace()
  for (const [atSeconds, value] of notes) pace.note(value, atSeconds * 1_000)
  return pace.perSecond()
}

test('a rate is over the last minute, and unknown until two seconds have passed', () => {
  expect(rateOf()).toBeUndefined()
  expect(rateOf([0, 0], [1, 100])).toBeUndefined()
  expect(rateOf([0, 0], [2, 100])).toBe(50)
  expect(rateOf([0, 0], [30, 3_000], [60, 3_300], [90, 3_600])).toBe(10)
})

test('a value that falls begins anew', () => {
  expect(rateOf([0, 900], [10, 1_000], [20, 0])).toBeUndefined()
  expect(rateOf([0, 900], [10, 0], [20, 50])).toBe(5)
})
