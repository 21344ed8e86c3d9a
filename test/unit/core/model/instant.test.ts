import fc from 'fast-check'
import { parseInstant, parseWindowBound, toInstant, windowBoundPattern } from '../../../../src/core/model/instant.ts'

const earliestMs = Date.parse('0000-01-01T00:00:00.000Z')
const latestMs = Date.parse('9999-12-31T23:59:59.999Z')
const epochMs = fc.oneof(
  fc.integer({ min: earliestMs, max: latestMs }),
  fc.constantFrom(earliestMs, latestMs, 0, -1, Date.parse('2024-02-29T23:59:59.999Z')),
)
const offset = fc.record({ sign: fc.constantFrom('+', '-'), hours: fc.nat(23), minutes: fc.nat(59) })
const two = (value: number): string => String(value).padStart(2, '0')

describe('The moment of a record', () => {
  test.each([
    ['2026-03-01T10:00:00.000Z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T04:30:00-0530', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T15:00:00+05', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T10:00Z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01t10:00:00z', '2026-03-01T10:00:00.000Z'],
    ['2026-03-01T10:00:00,5Z', '2026-03-01T10:00:00.500Z'],
  ])('%s is %s', (text, expected) => {
    expect(parseInstant(text)).toBe(expected)
  })

  test.each([
    ...['2026-03-01T10:00:00', '2026-03-01', '2026-02-30T00:00:00Z', '2025-02-29T00:00:00Z', '2026-13-01T00:00:00Z'],
    ...['2026-03-01T24:00:00Z', '2026-03-01T10:60:00Z', '2016-12-31T23:59:60Z', '2026-03-01T10:00.5Z'],
    ...['2026-03-01T10:00:00+24:00', '2026-03-01T10:00:00+00:60', '12026-03-01T10:00:00Z'],
    // Before the year 0, and after 9999, in UTC.
    ...['0000-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01'],
    ...['2026-03-01 10:00:00Z', ' 2026-03-01T10:00:00Z ', '2026-03-01T10:00:00Z\n', '٢٠٢٦-03-01T10:00:00Z', ''],
  ])('%j is refused', (text) => {
    expect(parseInstant(text)).toBeUndefined()
  })

  test('is the same with any offset and any finer digits, cut to milliseconds', () => {
    fc.assert(
      fc.property(epochMs, offset, fc.stringMatching(/^\d{0,9}$/), (utcMs, { sign, hours, minutes }, finer) => {
        const shift = (sign === '-' ? -1 : 1) * (hours * 60 + minutes) * 60_000
        const local = new Date(utcMs + shift).toISOString()
        fc.pre(local.length === 24)
        const text = `${local.slice(0, -1)}${finer}${sign}${two(hours)}:${two(minutes)}`
        expect(parseInstant(text)).toBe(toInstant(utcMs))
      }),
    )
  })

  test('sorts as text in the order of time, from the year 0000 to 9999', () => {
    fc.assert(
      fc.property(epochMs, epochMs, (a, b) => {
        expect(toInstant(a) < toInstant(b)).toBe(a < b)
      }),
    )
  })

  test('is UTC with milliseconds for any text, or the text is refused', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\dTZ:.+-]{0,30}$/)), (text) => {
        const instant = parseInstant(text) ?? toInstant(0)
        expect(instant).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
      }),
    )
  })
})

describe('A bound of a window', () => {
  test.each([
    ...['2026-02-30', '2026-13-01', '2026-01-01T25:00:00Z', '2026-3-1', 'yesterday', '', '1772359200', '1767225600000'],
    ...['20261121', '20261121T101112Z', '2026-11-21T101112Z', '20261121T10:11:12Z', '2026-03-01T10'],
    ...['2026-W09-7', '2026W097', '2026-325', '2026325', '2026-11', '2026'],
    ...['2026/11/21', '21.11.2026', 'Sat, 21 Nov 2026 10:11:12 GMT'],
  ])('%s is refused', (text) => {
    expect([parseWindowBound(text, 'from'), parseWindowBound(text, 'to')]).toEqual([undefined, undefined])
  })

  test.each([
    ['2026-11-21', '2026-11-21T00:00:00.000Z', '2026-11-21T23:59:59.999Z'],
    ['2026-11-21T10:00', '2026-11-21T10:00:00.000Z', '2026-11-21T10:00:00.000Z'],
    ['2026-11-21T10:00 05:30', '2026-11-21T04:30:00.000Z', '2026-11-21T04:30:00.000Z'],
    ['2026-11-21T10:00:00.120Z', '2026-11-21T10:00:00.120Z', '2026-11-21T10:00:00.120Z'],
    ['2026-11-21T10:00:00.1201Z', '2026-11-21T10:00:00.121Z', '2026-11-21T10:00:00.120Z'],
  ])('%s begins at %s and ends at %s', (text, from, to) => {
    expect([parseWindowBound(text, 'from'), parseWindowBound(text, 'to')]).toEqual([from, to])
  })

  test.each([
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
    ['0000-01-01T00:00:00.000Z', '0000-01-01T00:00:00.000Z', '0000-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.9991Z', 'beyond-all', '9999-12-31T23:59:59.999Z'],
    ['9999-12-31T23:59:59-01:00', 'beyond-all', '9999-12-31T23:59:59.999Z'],
    ['0000-01-01T00:00:00+01:00', '0000-01-01T00:00:00.000Z', 'beyond-all'],
    ['0000-01-01T00:00:00.0001Z', '0000-01-01T00:00:00.001Z', '0000-01-01T00:00:00.000Z'],
  ])('%s, at the end of all that can be stored, begins at %s and ends at %s', (text, from, to) => {
    expect([parseWindowBound(text, 'from'), parseWindowBound(text, 'to')]).toEqual([from, to])
  })

  test('matches the published pattern if it is accepted, and not otherwise', () => {
    const year = fc.oneof(fc.constantFrom('0000', '1900', '2000', '2023', '2024', '2100'), fc.stringMatching(/^\d{4}$/))
    const month = fc.integer({ min: 0, max: 13 }).map(two)
    const day = fc.integer({ min: 0, max: 32 }).map(two)
    const time = fc.stringMatching(/^[Tt][0-3]\d:[0-6]\d(:[0-6]\d([.,]\d{1,4})?)?$/)
    const zone = fc.stringMatching(/^([Zz]|[ +-][0-3]\d(:?[0-6]\d)?)$/)
    const maybe = (text: fc.Arbitrary<string>): fc.Arbitrary<string> => fc.oneof(fc.constant(''), text)
    const written = fc
      .tuple(year, month, day, maybe(time), maybe(zone))
      .map(([y, m, d, ...rest]) => `${y}-${m}-${d}${rest.join('')}`)
    const pattern = new RegExp(windowBoundPattern)
    fc.assert(
      fc.property(fc.oneof({ weight: 9, arbitrary: written }, fc.string()), (text) => {
        const isRead = parseWindowBound(text, 'from') !== undefined
        expect({ text, isMatched: pattern.test(text) }).toEqual({ text, isMatched: isRead })
      }),
      { numRuns: 5_000 },
    )
  })
})
