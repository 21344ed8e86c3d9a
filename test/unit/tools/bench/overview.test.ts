import { renderOverview, shareOf } from '../../../../tools/bench/overview.ts'
import { verdictOn } from '../../../../tools/bench/report.ts'
import type { Results } from '../../../../tools/bench/results.ts'

const sample = (p50Ms: number) => ({ p50Ms, p99Ms: 2 * p50Ms, perSecond: 100, turns: 300, busyShare: 0.25 })
const spread = (median: number) => ({ median, min: median, max: median })
const results: Results = {
  title: 'Pages',
  about: [],
  versions: [],
  sections: [
    {
      title: 'Deep pages',
      measure: 'latency',
      rows: [
        { label: 'page 1', of: 'first' },
        { label: 'page 2', of: 'deep', to: { label: 'page 1', of: 'first', goal: { atMost: 1.5 } } },
      ],
    },
    { title: 'At once', measure: 'throughput', rows: [{ label: 'page 1', of: 'first' }] },
    {
      title: 'Delays',
      measure: 'latency',
      rows: [{ label: 'seen', of: 'first', within: { p50Ms: 2, p99Ms: 3 } }],
    },
  ],
  samples: new Map([
    ['first', [sample(2)]],
    ['deep', [sample(4)]],
  ]),
  verdicts: [verdictOn({ figure: 'Failures', measured: spread(0), unit: 'requests', goal: { atMost: 0 } })],
}

test('every figure is one line: of which bench, what it has to be, what it is, and whether it is met', () => {
  const cells = renderOverview(new Map([['api', results]]))
    .trimEnd()
    .split('\n')
    .slice(2)
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    )
  expect(cells).toEqual([
    ['api', 'Deep pages: page 1', '', '2.00 (2.00–2.00) ms', ''],
    ['api', 'Deep pages: page 2', '≤ 1.5', '2.00 × page 1, 4.00 (4.00–4.00) ms', '**MISSED**'],
    ['api', 'At once: page 1', '', '100 (100–100) a second', ''],
    ['api', 'Delays: seen', 'p50 ≤ 2, p99 ≤ 3 ms', '2.00 (2.00–2.00) ms, p99 4.00 (4.00–4.00) ms', '**MISSED**'],
    ['api', 'Failures', '≤ 0', '0 requests', 'met'],
  ])
})

test('a share of what a target allows is up to 1 when it is met, whichever way the target points', () => {
  const measured = { median: 2, min: 1, max: 4 }
  expect(shareOf({ goal: { atMost: 4 }, measured })).toEqual({ median: 0.5, min: 0.25, max: 1 })
  expect(shareOf({ goal: { atLeast: 1 }, measured })).toEqual({ median: 0.5, min: 0.25, max: 1 })
  expect(shareOf({ goal: { atMost: 0 }, measured: spread(0) })).toBeUndefined()
})
