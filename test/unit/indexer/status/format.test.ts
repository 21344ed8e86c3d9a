import { clockText, counted, duration, ranges } from '../../../../indexer/status/format.ts'

test('numbers in a row are a range', () => {
  expect(ranges([3, 1, 0, 2, 5, 8, 7])).toBe('0–3, 5, 7–8')
  expect(ranges([])).toBe('')
})

test('durations are rounded down, in the unit that people use', () => {
  expect([0, 1.49, 95, 119, 850, 7_200, 260_000].map(duration)).toEqual([
    ...['0 s', '1.4 s', '95 s', '119 s', '14 min', '2 h', '3 days'],
  ])
})

test('a count agrees with its noun, and a time of another day has a date', () => {
  expect([counted(1, 'record'), counted(1_200, 'record')]).toEqual(['1 record', '1,200 records'])
  const at = Date.parse('2026-11-28T23:59:59.999Z')
  expect([clockText(at, at), clockText(at, at + 1_000)]).toEqual(['23:59:59', '28 Nov 23:59:59'])
})
