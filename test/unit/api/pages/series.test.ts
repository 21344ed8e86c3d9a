import { seriesOf, withOthers } from '../../../../src/api/pages/assets/series.js'

const dates = ['2026-11-27', '2026-11-28', '2026-11-29']
const total = (key: string | null, count: number, scored: number, mean: number | null) => ({
  ...{ key, count },
  scores: { count: scored, mean },
})
const on = (date: string, key: string | null, count: number) => ({
  key: [`${date}T00:00:00.000+05:45`, key] as const,
  count,
})

test('each value has a count for every day, 0 where the API has none', () => {
  const totals = [total('good', 3, 3, 80), total(null, 1, 0, null)]
  const byDay = [on('2026-11-27', 'good', 2), on('2026-11-29', 'good', 1), on('2026-11-29', null, 1)]
  expect(seriesOf(dates, totals, byDay)).toEqual([
    { key: 'good', count: 3, scored: 3, mean: 80, counts: [2, 0, 1] },
    { key: null, count: 1, scored: 0, mean: null, counts: [0, 0, 1] },
  ])
  expect(seriesOf(dates, [], [])).toEqual([])
})

test('a value is not taken for another one that looks alike: no value, and the texts null and empty', () => {
  const keys = ['null', null, '']
  const byDay = keys.map((key, at) => on('2026-11-28', key, at + 1))
  const series = seriesOf(
    dates,
    keys.map((key, at) => total(key, at + 1, 0, null)),
    byDay,
  )
  expect(series.map(({ counts }) => counts[1])).toEqual([1, 2, 3])
})

describe('values beyond the most that are shown', () => {
  const some = (means: readonly (number | null)[], scored: readonly number[]) =>
    seriesOf(
      dates,
      means.map((mean, at) => total(`v${at}`, 10 - at, scored[at] ?? 0, mean)),
      means.map((_, at) => on('2026-11-28', `v${at}`, 10 - at)),
    )

  test('are added up in the last series, with the mean of all their scores', () => {
    const series = some([1, 50, 80, null], [1, 3, 1, 0])
    expect(withOthers(series, 4)).toEqual(series)
    expect(withOthers(series, 2)).toEqual([
      series[0],
      { key: null, count: 24, scored: 4, mean: (50 * 3 + 80) / 4, counts: [0, 24, 0], others: 3 },
    ])
  })

  test('have no mean when none has a score, or when the API has no mean of one', () => {
    expect(withOthers(some([1, null, null], [1, 0, 0]), 2)[1]?.mean).toBe(null)
    expect(withOthers(some([1, null, 50], [1, 4, 1]), 2)[1]?.mean).toBe(null)
  })
})
