import * as echarts from 'echarts'
import { judge, type Results, type Samples, type Section } from './report.ts'
import { number, spreadText } from './table.ts'

const width = 960
const left = 330
const right = 240
const rowHeight = 26
const titleHeight = 64
const gap = 24

type Placed = { readonly section: Section; readonly top: number; readonly height: number }

/** Results as an SVG: for each section horizontal bars of its medians, with median, minimum and maximum behind them. */
export function renderChart({ title, sections, samples }: Pick<Results, 'title' | 'sections' | 'samples'>): string {
  let end = titleHeight
  const placed = sections.map((section): Placed => {
    const [top, height] = [end + gap, section.rows.length * rowHeight]
    end = top + height + gap
    return { section, top, height }
  })
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, width, height: end })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: '#fff',
      title: [
        { text: title, left: 16, top: 16 },
        ...placed.map(({ section, top }) => ({
          text: `${section.title}: ${section.measure === 'latency' ? 'median latency in ms' : section.measure}`,
          left: 16,
          top: top - gap,
          textStyle: { fontSize: 13 },
        })),
      ],
      grid: placed.map(({ top, height }) => ({ left, right, top, height })),
      xAxis: placed.map((_, gridIndex) => ({ type: 'value', show: false, gridIndex, min: 0 })),
      yAxis: placed.map(({ section: { rows } }, gridIndex) => ({
        type: 'category',
        gridIndex,
        inverse: true,
        data: rows.map(({ label }) => label),
        axisLine: { show: false },
        axisTick: { show: false },
        axisLabel: { width: left - 24, overflow: 'truncate', interval: 0 },
      })),
      series: placed.map(({ section }, index) => ({
        type: 'bar',
        xAxisIndex: index,
        yAxisIndex: index,
        data: barsOf(section, samples),
      })),
    })
    return chart.renderToSVGString()
  } finally {
    chart.dispose()
  }
}

const barsOf = ({ measure, rows }: Section, samples: Samples) =>
  rows.map((row) => {
    const { p50Ms, perSecond, ratio } = judge(row, measure, samples)
    const value = measure === 'latency' ? (p50Ms ?? perSecond) : perSecond
    const note = ratio === undefined ? '' : `, ${number(ratio.spread.median)} × ${ratio.to}`
    return {
      value: value.median,
      itemStyle: { color: ratio === undefined ? '#a8b3bd' : '#1f6feb' },
      label: { show: true, position: 'right', formatter: spreadText(value) + note },
    }
  })
