import fc from 'fast-check'
import { likelySpan, spannedUnits, timeUnits } from '../../../../src/api/search/counts.ts'

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
  expect(spannedUnits(unit, { fromMs: at(from), toMs: at(to) })).toBe(expected)
})

test('two spans that meet have as many as the whole, but for the one in which they meet', () => {
  const moment = fc.date({ min: new Date('0000-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  fc.assert(
    fc.property(fc.tuple(moment, moment, moment), fc.constantFrom(...timeUnits), (moments, unit) => {
      const [first = 0, middle = 0, last = 0] = moments.map((each) => each.getTime()).sort((a, b) => a - b)
      const of = (fromMs: number, toMs: number): number => spannedUnits(unit, { fromMs, toMs })
      expect(of(first, last)).toBe(of(first, middle) + of(middle, last) - 1)
    }),
  )
})

const nowMs = at('2026-11-23T12:00:00Z')
test.each([
  ['hour', undefined, undefined, '2025-10-03T21:00:00.000Z', '2026-11-24T12:00:00.000Z'],
  ['day', undefined, undefined, '1999-07-10T12:00:00.000Z', '2026-11-24T12:00:00.000Z'],
  ['day', '1970-01-01T00:00:00Z', undefined, '1999-07-10T12:00:00.000Z', '2026-11-24T12:00:00.000Z'],
  ['day', '2020-01-01T00:00:00Z', undefined, '2020-01-01T00:00:00.000Z', '2047-05-18T00:00:00.000Z'],
  ['day', undefined, '2010-01-01T00:00:00Z', '1982-08-17T00:00:00.000Z', '2010-01-01T00:00:00.000Z'],
  ['day', '1900-01-01T00:00:00Z', '2010-01-01T00:00:00Z', '1982-08-17T00:00:00.000Z', '2010-01-01T00:00:00.000Z'],
] as const)('%s: what is from %s to %s is likely to be from %s to %s', (unit, since, until, from, to) => {
  const window = { sinceMs: since && at(since), untilMs: until && at(until) }
  const { fromMs, toMs } = likelySpan(unit, 10_000, window, nowMs)
  expect([fromMs, toMs].map((epochMs) => new Date(epochMs).toISOString())).toEqual([from, to])
})

test('a likely span never has more units than it should', () => {
  const moment = fc.date({ min: new Date('1800-01-01'), max: new Date('2400-01-01'), noInvalidDate: true })
  fc.assert(
    fc.property(moment, fc.constantFrom(...timeUnits), (now, unit) => {
      const window = { sinceMs: undefined, untilMs: undefined }
      expect(spannedUnits(unit, likelySpan(unit, 1_000, window, now.getTime()))).toBeLessThanOrEqual(1_000)
    }),
  )
})
