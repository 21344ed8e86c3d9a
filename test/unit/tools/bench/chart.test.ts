import { renderBarChart } from '../../../../tools/bench/chart.ts'

const bars = [
  { label: 'page 1', value: { median: 2, min: 1, max: 4 } },
  { label: 'page <2> & "3"', value: { median: 1, min: 1, max: 1 } },
]
const chart = renderBarChart('Pages', [{ title: 'Lists', unit: 'ms', bars }])

test('bars are as long as their medians, on the scale of the highest value of their group', () => {
  const widths = [...chart.matchAll(/<rect class="bar"[^>]* width="([\d.]+)"/g)].map(([, width]) => Number(width))
  const ends = [...chart.matchAll(/<line [^>]*x1="([\d.]+)"[^>]* x2="([\d.]+)"/g)].map(
    ([, from, to]) => Number(to) - Number(from),
  )
  expect(widths).toEqual([210, 105])
  expect(ends).toEqual([315, 0])
})

test('what is noted stands behind its figure, within the picture', () => {
  const noted = bars.map((bar) => ({ ...bar, note: '50 % of page 1' }))
  const group = { title: 'Lists', unit: 'ms', bars: noted }
  const [, left = '', text = ''] =
    /<text class="value" x="([\d.]+)"[^>]*>([^<]*)</.exec(renderBarChart('Pages', [group])) ?? []
  expect(text).toBe('2.00, 50 % of page 1')
  expect(Number(left)).toBeLessThan(700)
})

test('labels are text, whatever they hold', () => {
  expect(chart).toContain('>page &lt;2> &amp; &quot;3&quot;</text>')
  expect(chart).toContain('>Lists, ms</text>')
})

test('it follows the light or dark of its reader', () => {
  expect(chart).toContain('prefers-color-scheme: dark')
})
