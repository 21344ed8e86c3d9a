import fc from 'fast-check'
import { lastDates, startOfDate, startOfNextDate } from '../../../../src/api/pages/assets/days.js'

const startOf = (date: string, timeZone: string): string => new Date(startOfDate(date, timeZone)).toISOString()

test.each([
  ['UTC', '2026-03-01', ['2026-02-27', '2026-02-28', '2026-03-01']],
  ['Pacific/Kiritimati', '2026-03-02', ['2026-02-28', '2026-03-01', '2026-03-02']],
  ['Etc/GMT+12', '2026-03-01', ['2026-02-27', '2026-02-28', '2026-03-01']],
])('the last days of %s at 20:00 UTC on 1 March end with %s', (timeZone, _today, expected) => {
  expect(lastDates(Date.parse('2026-03-01T20:00:00Z'), 3, timeZone)).toEqual(expected)
})

test('a day in which the clock is put forward or back is one of the last days, once', () => {
  const dates = lastDates(Date.parse('2026-11-02T05:30:00Z'), 3, 'America/New_York')
  expect(dates).toEqual(['2026-10-31', '2026-11-01', '2026-11-02'])
})

test.each([
  ['UTC', '2026-11-29', '2026-11-29T00:00:00.000Z'],
  ['Asia/Kathmandu', '2026-11-29', '2026-11-28T18:15:00.000Z'],
  ['Pacific/Kiritimati', '2026-11-29', '2026-11-28T10:00:00.000Z'],
  ['Etc/GMT+12', '2026-11-29', '2026-11-29T12:00:00.000Z'],
  ['America/New_York', '2026-11-01', '2026-11-01T04:00:00.000Z'],
  ['America/New_York', '2026-11-02', '2026-11-02T05:00:00.000Z'],
  // The clock goes from 24:00 to 01:00.
  ['Africa/Cairo', '2026-04-24', '2026-04-23T22:00:00.000Z'],
  // Apia left out 30 December 2011.
  ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00:00.000Z'],
  ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00:00.000Z'],
])('in %s, %s begins at %s', (timeZone, date, expected) => {
  expect(startOf(date, timeZone)).toBe(expected)
})

test('in every zone, each day ends where the next begins, and an instant before its start is another day', () => {
  const zones = fc.constantFrom(...Intl.supportedValuesOf('timeZone'))
  const days = fc.integer({ min: Date.UTC(2024, 0) / 86_400_000, max: Date.UTC(2030, 0) / 86_400_000 })
  fc.assert(
    fc.property(zones, days, (timeZone, day) => {
      const date = new Date(day * 86_400_000).toISOString().slice(0, 10)
      const startMs = startOfDate(date, timeZone)
      const dateAt = (instantMs: number): string => new Date(instantMs).toLocaleDateString('sv', { timeZone })
      expect([dateAt(startMs), dateAt(startMs - 1) < date]).toEqual([date, true])
      expect(startOfNextDate(date, timeZone) - startMs).toBeGreaterThanOrEqual(20 * 3_600_000)
      expect(dateAt(startOfNextDate(date, timeZone) - 1)).toBe(date)
    }),
  )
})
