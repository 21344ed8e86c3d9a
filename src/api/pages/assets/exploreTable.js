const table = byId('numbers')
/** Dates and series of the table; `placeOf`: from the place of a series here to its place in the chart. */
let listed = { dates: [], series: [], placeOf: (at) => at }

/** Shows a row for each series and a column for each date. The last series of the chart, `drawn`, stands for all further ones. */
export const fillTable = (dates, series, drawn) => {
  const placeOf = (at) => Math.min(at, drawn.length - 1)
  listed = { dates, series, placeOf }
  const cell = (value) => element('td', {}, value === null ? '–' : number.format(value))
  const rows = series.map((each, at) => {
    const name = element('th', { scope: 'row' }, swatch(placeOf(at), drawn[placeOf(at)]), nameOf(each))
    return element('tr', {}, name, ...[each.count, each.mean, ...each.counts].map(cell))
  })
  const head = [...columns, ...dates.map(dayName)].map((text) => element('th', { scope: 'col' }, text))
  table.replaceChildren(element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows))
  hideRows()
}

/** The names of the columns before the days. */
const columns = [say.value, say.submissions, say.mean]

/** Hides the rows of what the chart does not show. */
export const hideRows = () => {
  for (const [at, row] of [...table.tBodies[0].rows].entries()) row.hidden = !isShown(listed.placeOf(at))
}

let fileUrl = ''

/** Saves what the table shows as CSV, with every digit of the means and with whole dates. */
export const saveCsv = (name) => {
  const { dates, series, placeOf } = listed
  const shown = series.filter((_, at) => isShown(placeOf(at)))
  const rows = shown.map((each) => [nameOf(each), each.count, each.mean, ...each.counts])
  URL.revokeObjectURL(fileUrl)
  fileUrl = URL.createObjectURL(
    new Blob([csvOf([[...columns, ...dates], ...rows])], { type: 'text/csv;charset=utf-8' }),
  )
  element('a', { href: fileUrl, download: name }).click()
}
