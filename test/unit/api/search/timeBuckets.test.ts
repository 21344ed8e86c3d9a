import fc from 'fast-check'
import { spannedUnits, timeUnits } from '../../../../src/api/search/timeBuckets.ts'

const at = (text: string): number => Date.parse(text)

test.each([
  ['hour', '2026-11-20T10:00:00Z', '2026-11-20T10:59:59.999Z', 1],
  ['hour', '2026-11-20T10:59:59.999Z', '2026-11-20T11:00:00Z', 2],
  ['hour', '1969-12-31T23:59:59.999Z', '1970-01-01T00:00:00Z', 2],
  ['day', '2024-02-28T23:00:00Z', '2024-03-01T00:00:00Z', 3],
  ['day', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', 3_652_425],
  ['month', '2025-12-31T23:59:59.999Z', '2026-01-01T00:00:00Z', 2],
  ['month', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z', 120_000],
] as const)('%s: from %s to %s there are %i', (unit, from, to, expected) => {
  expect(spannedUnits(unit, at(from), at(to))).toBe(expected)
})

test('two spans that meet have as many as the whole, but for the one in which they meet', () => {
  const moment = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(fc.tuple(moment, moment, moment), fc.constantFrom(...timeUnits), (moments, unit) => {
      const [first = 0, middle = 0, last = 0] = moments.map((each) => each.getTime()).sort((a, b) => a - b)
      const both = spannedUnits(unit, first, middle) + spannedUnits(unit, middle, last)
      expect(spannedUnits(unit, first, last)).toBe(both - 1)
    }),
  )
})
