import { type Samples, type Section, verdictsOf } from '../../../../tools/bench/report.ts'
import { number, renderGoals, renderTable } from '../../../../tools/bench/table.ts'

const sample = (p50Ms: number, perSecond: number) => ({
  p50Ms,
  p99Ms: 2 * p50Ms,
  perSecond,
  turns: 300,
  busyShare: 0.25,
})
const samples: Samples = new Map([
  ['first', [sample(2, 400), sample(4, 200), sample(3, 300)]],
  ['deep', [sample(4, 100), sample(4, 100), sample(4.5, 150)]],
])
const sectionOf = (measure: Section['measure'], goal: { atMost: number } | { atLeast: number }): Section => ({
  title: 'Pages',
  measure,
  rows: [
    { label: 'page 1', of: 'first' },
    { label: 'page 2', of: 'deep', to: { label: 'page 1', of: 'first', goal } },
  ],
})

test('a table shows medians with both ends, the ratio of each round, and whether it is what it has to be', () => {
  const cells = renderTable([sectionOf('latency', { atMost: 1.5 })], samples)
    .trimEnd()
    .split('\n')
    .map((line) => line.split('|').map((cell) => cell.trim()))
  expect(cells.slice(2)).toEqual([
    ['', '**Pages**', '', '', '', '', '', '', '', '', ''],
    ['', 'page 1', '3.00 (2.00–4.00)', '6.00 (4.00–8.00)', '', '300', '', '', '', '', ''],
    [
      '',
      'page 2',
      '4.00 (4.00–4.50)',
      '8.00 (8.00–9.00)',
      '',
      '300',
      '',
      '1.50 (1.00–2.00) × page 1',
      '≤ 1.5',
      'met',
      '',
    ],
  ])
})

test('throughput is compared by answers a second, and a miss is marked', () => {
  const sections = [sectionOf('throughput', { atLeast: 0.7 })]
  const table = renderTable(sections, samples)
  expect(table).toContain('300 (200–400)')
  expect(table).toContain('0.500 (0.250–0.500) × page 1')
  expect(table).toContain('25 %')
  expect(table).toContain('**MISSED**')
  expect(renderGoals(verdictsOf(sections, samples))).toBe('- **missed**: Pages: page 2: 0.500 × page 1, target ≥ 0.7\n')
})

test('records a second need no latencies, and what was not measured says why', () => {
  const loads: Samples = new Map([
    ['ceiling', [{ perSecond: 8_000, turns: 100 }]],
    ['indexer', [{ perSecond: 6_000, turns: 100 }]],
  ])
  const section: Section = {
    title: 'Loads',
    measure: 'records',
    rows: [{ label: 'indexer', of: 'indexer', to: { label: 'ceiling', of: 'ceiling', goal: { atLeast: 0.6 } } }],
    unmeasured: ['other: not measured: it is not there'],
  }
  const [row, missing] = renderTable([section], loads)
    .trimEnd()
    .split('\n')
    .slice(3)
    .map((line) => line.split('|').map((cell) => cell.trim()))
  expect(row?.slice(1, -1)).toEqual([
    'indexer',
    '',
    '',
    '6000 (6000–6000)',
    '100',
    '',
    '0.750 (0.750–0.750) × ceiling',
    '≥ 0.6',
    'met',
  ])
  expect(missing?.slice(1, 3)).toEqual(['other: not measured: it is not there', ''])
})

test('a latency is within its limits when both figures are', () => {
  const within = (p50Ms: number, p99Ms: number): Section => ({
    title: 'Delays',
    measure: 'latency',
    rows: [{ label: 'seen', of: 'first', within: { p50Ms, p99Ms } }],
  })
  expect(renderTable([within(3, 6)], samples)).toMatch(/p50 ≤ 3, p99 ≤ 6 ms \| +met/)
  expect(renderTable([within(3, 5)], samples)).toContain('**MISSED**')
  expect(renderGoals(verdictsOf([within(2, 6)], samples))).toBe(
    '- **missed**: Delays: seen, p50: 3 ms, target ≤ 2\n- met: Delays: seen, p99: 6 ms, target ≤ 6\n',
  )
})

test('the columns of a table stand below one another; only titles run over', () => {
  const lines = renderTable([sectionOf('latency', { atMost: 2 })], samples)
    .trimEnd()
    .split('\n')
    .filter((line) => !line.includes('**'))
  expect(new Set(lines.map(({ length }) => length)).size).toBe(1)
})

test('what was not measured is in no table', () => {
  const section: Section = { title: 'Pages', measure: 'latency', rows: [{ label: 'page 3', of: 'third' }] }
  expect(() => renderTable([section], samples)).toThrow('third was not measured')
})

test('numbers keep three digits that count', () => {
  expect([0.0123, 1.5, 12.34, 99.99, 123.4, 12_345.6].map(number)).toEqual([
    '0.0123',
    '1.50',
    '12.3',
    '100',
    '123',
    '12346',
  ])
})
