/**
 * A series for each value of `totals`: its count on each of `dates`, also 0. `totals` and `byDay` are the items of `/record-counts`, by a value and
 * by day and the same value.
 */
export function seriesOf(dates, totals, byDay) {
  const nameOf = (date, value) => JSON.stringify([date, value])
  const counts = new Map(byDay.map(({ key: [time, value], count }) => [nameOf(time.slice(0, 10), value), count]))
  return totals.map(({ key, count, scores: { count: scored, mean } }) => {
    return { key, count, scored, mean, counts: dates.map((date) => counts.get(nameOf(date, key)) ?? 0) }
  })
}

/** At most `most` series. Further ones are added up in the last, whose `others` is their number. */
export function withOthers(series, most) {
  if (series.length <= most) return series
  const others = series.slice(most - 1)
  const sumOf = (numberOf) => others.reduce((sum, each) => sum + numberOf(each), 0)
  const scored = sumOf((each) => each.scored)
  // The API has no mean of very large scores.
  const isKnown = scored > 0 && others.every((each) => each.scored === 0 || each.mean !== null)
  const mean = isKnown ? sumOf((each) => each.scored * (each.mean ?? 0)) / scored : null
  const counts = others[0].counts.map((_, at) => sumOf((each) => each.counts[at]))
  const count = sumOf((each) => each.count)
  return [...series.slice(0, most - 1), { key: null, count, scored, mean, counts, others: others.length }]
}
