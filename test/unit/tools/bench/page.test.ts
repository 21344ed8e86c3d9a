import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { publish, renderSection } from '../../../../tools/bench/page.ts'
import type { Results, Section } from '../../../../tools/bench/report.ts'

const sample = (p50Ms: number, perSecond: number) => ({
  p50Ms,
  p99Ms: 2 * p50Ms,
  perSecond,
  count: 300,
  busyShare: 0.25,
})
const samples: Results['samples'] = new Map([
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
const cellsOf = (table: string): string[][] =>
  table
    .trimEnd()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )

test('a table shows medians with both ends, the ratio of each round, and whether it is what it has to be', () => {
  expect(cellsOf(renderSection(sectionOf('latency', { atMost: 1.5 }), samples))).toEqual([
    ['page 1', '3.00 (2.00–4.00)', '6.00 (4.00–8.00)', '', '300', '', '', '', ''],
    ['page 2', '4.00 (4.00–4.50)', '8.00 (8.00–9.00)', '', '300', '', '1.50 (1.00–2.00) × page 1', '≤ 1.5', 'met'],
  ])
})

test('rates are compared by answers a second, and a miss is marked', () => {
  const [, row] = cellsOf(renderSection(sectionOf('answers a second', { atLeast: 0.7 }), samples))
  expect(row?.slice(3)).toEqual(['100 (100–150)', '300', '25 %', '0.500 (0.250–0.500) × page 1', '≥ 0.7', '**MISSED**'])
})

test('a latency is within its limits when both figures are', () => {
  const within = (p50Ms: number, p99Ms: number): Section => ({
    title: 'Delays',
    measure: 'latency',
    rows: [{ label: 'seen', of: 'first', limits: { p50Ms, p99Ms } }],
  })
  expect(cellsOf(renderSection(within(3, 6), samples))[0]?.slice(-2)).toEqual(['p50 ≤ 3, p99 ≤ 6 ms', 'met'])
  expect(cellsOf(renderSection(within(3, 5), samples))[0]?.at(-1)).toBe('**MISSED**')
})

test('a page holds every table', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'bench-page-'))
  try {
    const results: Results = {
      title: 'Lists & <pages>',
      about: 'What is read.',
      sections: [sectionOf('latency', { atMost: 1.5 })],
      samples,
      counts: [{ title: 'Sizes', header: ['', 'bytes'], rows: [['list', '466']] }],
    }
    await publish('pages', results, { folder, versions: ['elasticsearch-9'] })
    const path = join(folder, `${new Date().toISOString().slice(0, 10)}-pages`)
    const page = await readFile(`${path}.md`, 'utf8')
    expect(page).toMatch(/^# Lists & <pages>\n\nWhat is read\.\n\nMeasured on: .*; elasticsearch-9\.\n/)
    for (const part of ['## Pages\n\n| ', '## Sizes\n\n| ', '| list |   466 |']) expect(page).toContain(part)
  } finally {
    await rm(folder, { recursive: true })
  }
})
