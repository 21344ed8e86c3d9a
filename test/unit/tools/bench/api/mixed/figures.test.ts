import { costsOf, samplesOf, sectionsOf, verdictsOn } from '../../../../../../tools/bench/api/mixed/figures.ts'
import { unchanged } from '../../../../../../tools/bench/api/mixed/job.ts'
import type { MixedRun } from '../../../../../../tools/bench/api/mixed/measure.ts'
import { probeNames } from '../../../../../../tools/bench/api/mixed/probes.ts'
import { verdictsOf } from '../../../../../../tools/bench/report.ts'

const sample = (p50Ms: number) => ({ p50Ms, p99Ms: p50Ms, perSecond: 1, turns: 1, busyShare: 0.1 })
const probes = Object.values(probeNames).map((name, at) => [name, sample(1 + at)] as const)
const run = (more: Partial<MixedRun>): MixedRun => ({
  samples: new Map(probes),
  seconds: 10,
  asked: 0,
  conditional: 0,
  unchanged: 0,
  failures: {},
  apiCpuSeconds: 1,
  elasticsearchCpuSeconds: 2,
  residentBytes: 100 * 1024 ** 2,
  written: 500,
  elapsedMs: 8_000,
  busyShare: 0.1,
  lateMs: 1,
  ...more,
})
const runs = new Map([
  [0, [run({})]],
  [
    200,
    [
      run({
        samples: new Map([...probes, [unchanged, sample(2)]]),
        asked: 2_000,
        conditional: 1_400,
        unchanged: 1_050,
        apiCpuSeconds: 4,
        elasticsearchCpuSeconds: 8,
        failures: { '503': 2, ECONNRESET: 1 },
      }),
    ],
  ],
])
const rowsOf = (label: string): readonly string[] | undefined =>
  costsOf(runs)[0]?.rows.find(([first]) => first === label)

test('what a thousand requests cost is what they add to the same round without them', () => {
  expect(rowsOf('API, CPU s per 1,000 requests')?.slice(1)).toEqual(['', '1.50 (1.50–1.50)'])
  expect(rowsOf('Elasticsearch, CPU s per 1,000 requests')?.slice(1)).toEqual(['', '3.00 (3.00–3.00)'])
  expect(rowsOf('304, % of the conditional')?.slice(1)).toEqual(['', '75.0 (75.0–75.0)'])
})

test('nothing may fail, and what did is told', () => {
  expect(verdictsOn(runs).map(({ measured, isMet }) => [measured.median, isMet])).toEqual([
    [0, true],
    [3, false],
  ])
  expect(costsOf(runs)[1]?.rows).toEqual([
    ['200 requests/s: 503', '2'],
    ['200 requests/s: ECONNRESET', '1'],
  ])
})

test('every pace holds the API against the same queries asked directly; answers that did not occur have no row', () => {
  const sections = sectionsOf(runs)
  expect(sections.map(({ rows }) => rows.length)).toEqual([9, 1, 9])
  expect(verdictsOf(sections, samplesOf(runs)).map(({ measured }) => measured.median)).toEqual([
    3,
    1.5,
    7 / 3,
    3,
    1.5,
    7 / 3,
  ])
})
