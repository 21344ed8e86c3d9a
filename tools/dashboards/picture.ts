import * as echarts from 'echarts'
import type { Panel } from './panels.ts'

const columnWidth = 60
const rowHeight = 26
const titleHeight = 48
const colors = ['#1f6feb', '#e5832b', '#2da44e', '#a371f7', '#cf222e', '#0a7ea4', '#bf8700', '#6e7781']
const shownNames = 5
const shownRows = 8

type Box = { readonly left: number; readonly top: number; readonly width: number; readonly height: number }
type Text = { readonly type: 'text'; readonly left: number; readonly top: number; readonly style: object }

/** The results of a dashboard's queries as an SVG, each panel at its place. */
export function renderPicture(title: string, panels: readonly Panel[]): string {
  const charts = panels.filter(
    ({ type, series }) => series.length > 0 && (type === 'timeseries' || type === 'state-timeline'),
  )
  const boxes = charts.map(boxOf)
  const height = titleHeight + Math.max(...panels.map(({ place }) => place.y + place.h)) * rowHeight
  const width = 24 * columnWidth
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#fff',
      color: colors,
      title: { text: title, left: 16, top: 12 },
      graphic: panels.flatMap(textsOf),
      grid: boxes,
      xAxis: boxes.map((_, gridIndex) => ({ type: 'time', gridIndex, splitNumber: 3, axisLabel: { fontSize: 10 } })),
      yAxis: charts.map(({ unit }, gridIndex) => ({
        type: 'value',
        gridIndex,
        splitNumber: 3,
        axisLabel: { fontSize: 10, formatter: (value: number) => valueText(value, unit) },
      })),
      series: charts.flatMap(({ type, series, unit }, index) =>
        series.map(({ points }, at) => ({
          type: type === 'timeseries' && unit === '' ? 'bar' : 'line',
          xAxisIndex: index,
          yAxisIndex: index,
          showSymbol: false,
          lineStyle: { width: 1.5 },
          itemStyle: { color: colors[at % colors.length] },
          data: points.filter(([, value]) => Number.isFinite(value)),
        })),
      ),
    })
    return chart.renderToSVGString()
  } finally {
    chart.dispose()
  }
}

function boxOf({ place, series }: Panel): Box {
  const names = series.some(({ name }) => name !== '') ? 18 : 0
  return {
    left: place.x * columnWidth + 56,
    top: titleHeight + place.y * rowHeight + 34,
    width: place.w * columnWidth - 80,
    height: place.h * rowHeight - 34 - 24 - names,
  }
}

/** Title, names of series, and what is no chart. */
function textsOf({ type, title, place, series, rows }: Panel): Text[] {
  const left = place.x * columnWidth + 16
  const top = titleHeight + place.y * rowHeight + 8
  const text = (line: string, down: number, style: object): Text => ({
    type: 'text',
    left,
    top: top + down,
    style: {
      text: line,
      font: '11px sans-serif',
      fill: '#424a53',
      width: place.w * columnWidth - 24,
      overflow: 'truncate',
      ...style,
    },
  })
  if (type === 'row') return [text(title, 0, { font: 'bold 14px sans-serif', fill: '#000' })]
  const texts = [text(title, 0, { font: 'bold 12px sans-serif' })]
  if (series.length > 0) {
    const names = series.slice(0, shownNames).map(({ name }, at) => `{c${at % colors.length}|■} ${name}`)
    const more = series.length > shownNames ? [`and ${series.length - shownNames} more`] : []
    const rich = Object.fromEntries(colors.map((fill, at) => [`c${at}`, { fill }]))
    const line = series.some(({ name }) => name !== '') ? [...names, ...more].join('  ') : ''
    const style = { rich, font: '10px sans-serif' }
    return [...texts, text(line, place.h * rowHeight - 24, style)]
  }
  if (type === 'stat')
    return [...texts, text(String(Object.values(rows[0] ?? {})[0]), 36, { font: '32px sans-serif', fill: '#1f6feb' })]
  const lines = rows.slice(0, shownRows).map((row) =>
    Object.values(row)
      .map((value) => value ?? '–')
      .join('   '),
  )
  return [...texts, ...lines.map((line, at) => text(line, 24 + at * 18, {}))]
}

function valueText(value: number, unit: string): string {
  if (unit === 's')
    return value < 1 ? `${Number((value * 1_000).toPrecision(3))} ms` : `${Number(value.toPrecision(3))} s`
  if (unit === 'percentunit') return `${Math.round(value * 100)} %`
  if (unit === 'bytes')
    return value < 2 ** 20 ? `${Math.round(value / 1_024)} KiB` : `${Math.round(value / 2 ** 20)} MiB`
  return String(Number(value.toPrecision(3)))
}
