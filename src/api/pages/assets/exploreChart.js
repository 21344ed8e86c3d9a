// Draws with Chart.js (https://www.chartjs.org). A canvas knows no custom properties of CSS, so the colours are read from elements that have them.

const canvas = byId('chart')
const legend = byId('legend')
/** Where the numbers of the day that the keyboard has chosen are said. */
const point = byId('point')
const axisDate = new Intl.DateTimeFormat(say.language, { month: 'short', day: 'numeric', timeZone: 'UTC' })
const longDate = new Intl.DateTimeFormat(say.language, { dateStyle: 'full', timeZone: 'UTC' })
/** The longest name in chart and legend; an answer may be a long text. */
const mostLetters = 40

export const dayName = (date) => axisDate.format(Date.parse(date))

const shortened = (name) => (name.length > mostLetters ? `${name.slice(0, mostLetters)}…` : name)

Chart.defaults.font.family = getComputedStyle(canvas).fontFamily
const chart = new Chart(canvas, {
  type: 'bar',
  data: { labels: [], datasets: [] },
  options: {
    animation: false,
    maintainAspectRatio: false,
    locale: say.language,
    interaction: { mode: 'index', intersect: false },
    scales: {
      x: {
        stacked: true,
        title: { display: true },
        grid: { display: false },
        ticks: { maxRotation: 0, autoSkipPadding: 12 },
      },
      y: { stacked: true, beginAtZero: true, title: { display: true, text: say.submissions }, ticks: { precision: 0 } },
    },
    plugins: { legend: { display: false }, tooltip: { borderWidth: 1, multiKeyBackground: 'transparent' } },
  },
})
/** The dates of the chart. */
let dates = []
/** The chosen day of the keyboard, by its place in `dates`. */
let chosen = -1
/** What the user has hidden, by `idOf`: the next answers leave it hidden. */
const hidden = new Set()

/** Takes the colours of the page, which depend on the preferred colour scheme and on the medium. */
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
  for (const [at, dataset] of chart.data.datasets.entries()) {
    const { backgroundColor: filling } = getComputedStyle(patches[at])
    // The edge separates parts that some people see in one colour.
    Object.assign(dataset, { backgroundColor: filling, hoverBackgroundColor: filling, borderColor: backgroundColor })
  }
  chart.update()
}

const datasetOf = (each) => {
  const name = shortened(nameOf(each))
  return { label: name, data: each.counts, borderWidth: { top: 1 }, categoryPercentage: 0.9, barPercentage: 1 }
}

/** A button that hides and shows series number `at`; `changed` is called after each change. */
const legendButton = (each, at, id, changed) => {
  const button = element(
    'button',
    { type: 'button', className: 'small outline' },
    swatch(at, each),
    shortened(nameOf(each)),
  )
  const show = (isShown) => {
    button.setAttribute('aria-pressed', isShown)
    chart.setDatasetVisibility(at, isShown)
  }
  show(!hidden.has(id))
  button.addEventListener('click', () => {
    const isShown = hidden.delete(id)
    if (!isShown) hidden.add(id)
    show(isShown)
    chart.update()
    leave()
    changed()
  })
  return button
}

/**
 * Draws the series as stacked bars of each date of a time zone, with a legend. `by` names what the series are values of: a value that the user has
 * hidden remains hidden. `changed` is called when the user hides or shows one.
 */
export const drawChart = (days, timeZone, by, series, changed) => {
  dates = days
  chart.data.labels = days.map(dayName)
  chart.data.datasets = series.map(datasetOf)
  chart.options.scales.x.title.text = `${say.day} (${timeZone})`
  const idOf = ({ key, others }) => JSON.stringify([by, key, others !== undefined])
  legend.replaceChildren(...series.map((each, at) => legendButton(each, at, idOf(each), changed)))
  recolour()
  leave()
}

export const isShown = (at) => chart.isDatasetVisible(at)

/** Marks parts of bars as the pointer does. Not by `update`, which would repeat the last event of the pointer. */
const mark = (parts) => {
  chart.setActiveElements(parts)
  chart.tooltip.setActiveElements(parts, { x: 0, y: 0 })
  chart.draw()
}

/** Marks a day, and says its numbers. */
const choose = (at) => {
  chosen = Math.max(0, Math.min(at, dates.length - 1))
  const shown = [...chart.data.datasets.entries()].filter(([index]) => isShown(index))
  mark(shown.map(([datasetIndex]) => ({ datasetIndex, index: chosen })))
  const parts = shown.map(([, { label, data }]) => [label, data[chosen]]).filter(([, count]) => count > 0)
  const sum = parts.reduce((total, [, count]) => total + count, 0)
  const day = `${longDate.format(Date.parse(dates[chosen]))}: ${number.format(sum)}`
  point.textContent = [day, ...parts.map(([label, count]) => `${label}: ${number.format(count)}`)].join(' · ')
}

const leave = () => {
  chosen = -1
  mark([])
  point.textContent = ''
}

const steps = {
  ArrowLeft: () => choose(chosen < 0 ? dates.length - 1 : chosen - 1),
  ArrowRight: () => choose(chosen + 1),
  Home: () => choose(0),
  End: () => choose(dates.length - 1),
  Escape: leave,
}
canvas.addEventListener('keydown', (event) => {
  const step = event.ctrlKey || event.altKey || event.metaKey ? undefined : steps[event.key]
  if (step === undefined) return
  event.preventDefault()
  step()
})
canvas.addEventListener('blur', leave)

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolour)
/** Paper is light, and has a width of its own: without this, the picture would be that of the window. */
const print = (isPrinting) => {
  document.documentElement.classList.toggle('printing', isPrinting)
  recolour()
  leave()
  if (isPrinting) chart.resize(640, 280)
  else chart.resize()
}
addEventListener('beforeprint', () => print(true))
addEventListener('afterprint', () => print(false))
