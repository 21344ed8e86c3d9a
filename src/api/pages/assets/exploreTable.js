const table = byId('numbers')
/** What the table shows. `chartIndexOf`: from the index of a series here to its index in the chart. */
let listed = { dates: [], allSeries: [], chartIndexOf: (index) => index }

/** Shows a row for each series and a column for each date. The chart has fewer series, `drawn`: its last one stands for all further ones of the table. */
export const fillTable = (dates, allSeries, drawn) => {
  const chartIndexOf = (index) => Math.min(index, drawn.length - 1)
  listed = { dates, allSeries, chartIndexOf }
  const cell = (value) => element('td', {}, value === null ? '–' : number.format(value))
  const rows = allSeries.map((series, index) => {
    const chartIndex = chartIndexOf(index)
    const name = element('th', { scope: 'row' }, swatch(chartIndex, drawn[chartIndex]), nameOf(series))
    return element('tr', {}, name, ...[series.count, series.mean, ...series.counts].map(cell))
  })
  const head = [...columns, ...dates.map(dayName)].map((text) => element('th', { scope: 'col' }, text))
  table.replaceChildren(element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows))
  hideRows()
}

/** The names of the columns before the days. */
const columns = [texts.value, texts.submissions, texts.mean]

/** Hides the rows of the series that the user has hidden in the chart. */
export const hideRows = () => {
  for (const [index, row] of [...table.tBodies[0].rows].entries()) row.hidden = !isShown(listed.chartIndexOf(index))
}

/** Of the CSV that was saved last. */
let fileUrl = ''

/** Saves what the table shows as CSV, with every digit of the means and with whole dates. */
export const saveCsv = (name) => {
  const { dates, allSeries, chartIndexOf } = listed
  const shown = allSeries.filter((_, index) => isShown(chartIndexOf(index)))
  const rows = shown.map((series) => [nameOf(series), series.count, series.mean, ...series.counts])
  URL.revokeObjectURL(fileUrl)
  fileUrl = URL.createObjectURL(
    new Blob([csvOf([[...columns, ...dates], ...rows])], { type: 'text/csv;charset=utf-8' }),
  )
  element('a', { href: fileUrl, download: name }).click()
}
