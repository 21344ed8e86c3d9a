/**
 * Makes a series for each value of `totals`: its count on each of `dates`, also 0. `totals` and `byDay` are the items of two answers of `/record-counts`:
 * with `by=level`, for example, and with `by=day,level`.
 */
export function seriesOf(dates, totals, byDay) {
  const keyOf = (date, value) => JSON.stringify([date, value])
  const counts = new Map(byDay.map(({ key: [time, value], count }) => [keyOf(time.slice(0, 10), value), count]))
  return totals.map(({ key, count, scores: { count: scored, mean } }) => {
    return { key, count, scored, mean, counts: dates.map((date) => counts.get(keyOf(date, key)) ?? 0) }
  })
}

/** At most `maxSeries` series. If there are more, the last one is the sum of all others, and its `others` is their number. */
export function withOthers(allSeries, maxSeries) {
  if (allSeries.length <= maxSeries) return allSeries
  const others = allSeries.slice(maxSeries - 1)
  const sumOf = (numberOf) => others.reduce((sum, series) => sum + numberOf(series), 0)
  const scored = sumOf((series) => series.scored)
  // The API has no mean of very large scores.
  const isMeanKnown = scored > 0 && others.every((series) => series.scored === 0 || series.mean !== null)
  const mean = isMeanKnown ? sumOf((series) => series.scored * (series.mean ?? 0)) / scored : null
  const counts = others[0].counts.map((_, day) => sumOf((series) => series.counts[day]))
  const count = sumOf((series) => series.count)
  return [...allSeries.slice(0, maxSeries - 1), { key: null, count, scored, mean, counts, others: others.length }]
}
