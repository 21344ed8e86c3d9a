// Draws with Chart.js (https://www.chartjs.org). A canvas knows no custom properties of CSS, so the colours are read from elements that have them.

const canvas = byId('chart')
const legend = byId('legend')
/** Shows the numbers of the day that the user has chosen by the keyboard. Screen readers read them aloud. */
const point = byId('point')
const axisDate = new Intl.DateTimeFormat(texts.language, { month: 'short', day: 'numeric', timeZone: 'UTC' })
const longDate = new Intl.DateTimeFormat(texts.language, { dateStyle: 'full', timeZone: 'UTC' })
/** Of a name in chart and legend; an answer may be a long text. */
const maxNameLetters = 40

export const dayName = (date) => axisDate.format(Date.parse(date))

const shortened = (name) => (name.length > maxNameLetters ? `${name.slice(0, maxNameLetters)}…` : name)

Chart.defaults.font.family = getComputedStyle(canvas).fontFamily
const chart = new Chart(canvas, {
  type: 'bar',
  data: { labels: [], datasets: [] },
  options: {
    animation: false,
    maintainAspectRatio: false,
    locale: texts.language,
    interaction: { mode: 'index', intersect: false },
    scales: {
      x: {
        stacked: true,
        title: { display: true },
        grid: { display: false },
        ticks: { maxRotation: 0, autoSkipPadding: 12 },
      },
      y: {
        stacked: true,
        beginAtZero: true,
        title: { display: true, text: texts.submissions },
        ticks: { precision: 0 },
      },
    },
    plugins: { legend: { display: false }, tooltip: { borderWidth: 1, multiKeyBackground: 'transparent' } },
  },
})
/** The dates of the chart. */
let dates = []
/** The index in `dates` of the day that the user has chosen by the keyboard; -1 for none. */
let chosen = -1
/** The ids (`idOf`) of the series that the user has hidden. They remain hidden when the chart is drawn again. */
const hidden = new Set()

/** Gives the chart the colours of the page, which depend on the preferred colour scheme, and on screen or paper. */
const recolour = () => {
  const { color, borderTopColor, backgroundColor } = getComputedStyle(canvas)
  for (const { ticks, title, grid, border } of Object.values(chart.options.scales)) {
    ticks.color = color
    title.color = color
    grid.color = borderTopColor
    border.color = borderTopColor
  }
  const page = getComputedStyle(document.body)
  const text = { titleColor: page.backgroundColor, bodyColor: page.backgroundColor }
  Object.assign(chart.options.plugins.tooltip, { ...text, backgroundColor: page.color, borderColor: borderTopColor })
  const patches = legend.querySelectorAll('i')
  for (const [index, dataset] of chart.data.datasets.entries()) {
    const { backgroundColor: filling } = getComputedStyle(patches[index])
    // The edge separates parts of a bar whose colours some people cannot distinguish.
    Object.assign(dataset, { backgroundColor: filling, hoverBackgroundColor: filling, borderColor: backgroundColor })
  }
  chart.update()
}

const datasetOf = (series) => {
  const label = shortened(nameOf(series))
  return { label, data: series.counts, borderWidth: { top: 1 }, categoryPercentage: 0.9, barPercentage: 1 }
}

/** A button that hides and shows the series with this index in the chart. `onChange` is called after each click. */
const legendButton = (series, index, id, onChange) => {
  const button = element(
    'button',
    { type: 'button', className: 'small outline' },
    swatch(index, series),
    shortened(nameOf(series)),
  )
  const show = (isShown) => {
    button.setAttribute('aria-pressed', isShown)
    chart.setDatasetVisibility(index, isShown)
  }
  show(!hidden.has(id))
  button.addEventListener('click', () => {
    const isShown = hidden.delete(id)
    if (!isShown) hidden.add(id)
    show(isShown)
    chart.update()
    chooseNone()
    onChange()
  })
  return button
}

/**
 * Draws the series as stacked bars, one for each date, with a legend. `by` names what was counted, such as the level: a series that the user has hidden
 * remains hidden while the same is counted. `onChange` is called when the user hides or shows a series.
 */
export const drawChart = (newDates, timeZone, by, allSeries, onChange) => {
  dates = newDates
  chart.data.labels = dates.map(dayName)
  chart.data.datasets = allSeries.map(datasetOf)
  chart.options.scales.x.title.text = `${texts.day} (${timeZone})`
  const idOf = ({ key, others }) => JSON.stringify([by, key, others !== undefined])
  legend.replaceChildren(...allSeries.map((series, index) => legendButton(series, index, idOf(series), onChange)))
  recolour()
  chooseNone()
}

/** Whether the user has not hidden the series with this index in the chart. */
export const isShown = (index) => chart.isDatasetVisible(index)

/** Highlights parts of bars as the pointer does. Does not call `update`, which would repeat the last event of the pointer. */
const highlight = (parts) => {
  chart.setActiveElements(parts)
  chart.tooltip.setActiveElements(parts, { x: 0, y: 0 })
  chart.draw()
}

/** Highlights the bar of a day, and shows its numbers. Before the first day it is the first, after the last day the last. */
const choose = (day) => {
  chosen = Math.max(0, Math.min(day, dates.length - 1))
  const shown = [...chart.data.datasets.entries()].filter(([index]) => isShown(index))
  highlight(shown.map(([datasetIndex]) => ({ datasetIndex, index: chosen })))
  const parts = shown.map(([, { label, data }]) => [label, data[chosen]]).filter(([, count]) => count > 0)
  const sum = parts.reduce((total, [, count]) => total + count, 0)
  const dateAndSum = `${longDate.format(Date.parse(dates[chosen]))}: ${number.format(sum)}`
  point.textContent = [dateAndSum, ...parts.map(([label, count]) => `${label}: ${number.format(count)}`)].join(' · ')
}

const chooseNone = () => {
  chosen = -1
  highlight([])
  point.textContent = ''
}

const actionOfKey = {
  ArrowLeft: () => choose(chosen < 0 ? dates.length - 1 : chosen - 1),
  ArrowRight: () => choose(chosen + 1),
  Home: () => choose(0),
  End: () => choose(dates.length - 1),
  Escape: chooseNone,
}
canvas.addEventListener('keydown', (event) => {
  const action = event.ctrlKey || event.altKey || event.metaKey ? undefined : actionOfKey[event.key]
  if (action === undefined) return
  event.preventDefault()
  action()
})
canvas.addEventListener('blur', chooseNone)

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour)
/** Paper is light, and has another width than the window: without this, the chart would be printed as it is on screen. */
const print = (isPrinting) => {
  document.documentElement.classList.toggle('printing', isPrinting)
  recolour()
  chooseNone()
  if (isPrinting) chart.resize(640, 280)
  else chart.resize()
}
addEventListener('beforeprint', () => print(true))
addEventListener('afterprint', () => print(false))
