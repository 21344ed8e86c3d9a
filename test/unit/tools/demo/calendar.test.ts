import { busyTimes } from '../../../../tools/demo/calendar.ts'

const nowMs = Date.parse('2026-11-21T11:00:00.000Z')
const days = 90
const timeOf = busyTimes(nowMs, days)
const times = Array.from({ length: 20_000 }, (_, index) => timeOf(index / 20_000))

test('times begin with the window, end by now and never go back', () => {
  expect(timeOf(0)).toBe(nowMs - days * 86_400_000)
  expect(timeOf(1)).toBe(nowMs)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
})

test('working hours are busier than nights, and working days than weekends', () => {
  const among = (matches: (time: Date) => boolean): number => times.filter((time) => matches(new Date(time))).length
  expect(among((time) => time.getUTCHours() === 9)).toBeGreaterThan(5 * among((time) => time.getUTCHours() === 2))
  expect(among((time) => time.getUTCDay() === 3)).toBeGreaterThan(2 * among((time) => time.getUTCDay() === 0))
})
