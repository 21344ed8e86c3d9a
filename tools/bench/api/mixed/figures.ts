import type { Sample } from '../../load/generator.ts'
import { type Row, type Samples, type Section, type Verdict, verdictOn } from '../../report.ts'
import type { Counts } from '../../results.ts'
import { spreadOf } from '../../statistics.ts'
import { spreadText } from '../../table.ts'
import { unchanged } from './job.ts'
import type { MixedRun } from './measure.ts'
import { probeNames } from './probes.ts'
import { pollKinds } from './script.ts'

/** By requests a second. */
export type MixedRuns = ReadonlyMap<number, readonly MixedRun[]>

const mebibyte = 1024 ** 2
const atPace = (pace: number): string => (pace === 0 ? 'no polling' : `${pace} requests/s`)
const nameOf = (pace: number, what: string): string => `mixed load, ${atPace(pace)}: ${what}`

/** What each kind of answer and each probe took, by name; what did not occur in every round is left out. */
export function samplesOf(runs: MixedRuns): Samples {
  const found = new Map<string, readonly Sample[]>()
  for (const [pace, own] of runs)
    for (const what of [unchanged, ...pollKinds, ...Object.values(probeNames)]) {
      const samples = own.flatMap((run) => run.samples.get(what) ?? [])
      if (samples.length === own.length) found.set(nameOf(pace, what), samples)
    }
  return found
}

export const sectionsOf = (runs: MixedRuns): Section[] =>
  [...runs.keys()].flatMap((pace) => (pace === 0 ? [besides(pace)] : [answers(runs, pace), besides(pace)]))

const answers = (runs: MixedRuns, pace: number): Section => {
  const measured = samplesOf(runs)
  return {
    title: `Mixed load, ${atPace(pace)}: by answer`,
    measure: 'latency',
    rows: [unchanged, ...pollKinds]
      .map((what) => ({ label: what, of: nameOf(pace, what) }))
      .filter(({ of }) => measured.has(of)),
  }
}

/** The same targets as at rest, under the load. */
function besides(pace: number): Section {
  const of = (what: keyof typeof probeNames): string => nameOf(pace, probeNames[what])
  const row = (what: keyof typeof probeNames): Row => ({ label: probeNames[what], of: of(what) })
  const direct = (what: keyof typeof probeNames): NonNullable<Row['to']> => ({ label: 'direct', of: of(what) })
  return {
    title: `Mixed load, ${atPace(pace)}: asked beside it twice a second each`,
    measure: 'latency',
    rows: [
      row('raw20'),
      { ...row('bare20'), to: direct('raw20') },
      { ...row('api20'), to: { ...direct('raw20'), goal: { atMost: 1.5 } } },
      row('raw100'),
      { ...row('bare100'), to: direct('raw100') },
      { ...row('api100'), to: { ...direct('raw100'), goal: { atMost: 1.5 } } },
      { ...row('deep'), to: { label: 'page 1', of: of('api20'), goal: { atMost: 1.5 } } },
      row('rawSmall'),
      { ...row('apiSmall'), to: direct('rawSmall') },
    ],
  }
}

/** Nothing may fail. */
export const verdictsOn = (runs: MixedRuns): Verdict[] =>
  [...runs].map(([pace, own]) => {
    const times = failed(own)
    const measured = { median: times, min: times, max: times }
    return verdictOn({ figure: `Mixed load, ${atPace(pace)}`, measured, unit: 'failed requests', goal: { atMost: 0 } })
  })

const failed = (own: readonly MixedRun[]): number =>
  own.flatMap(({ failures }) => Object.values(failures)).reduce((sum, times) => sum + times, 0)

/** What the load was, and what it cost. */
export function costsOf(runs: MixedRuns): Counts[] {
  const paces = [...runs.keys()]
  const line = (label: string, of: (run: MixedRun, round: number, pace: number) => number | undefined): string[] => [
    label,
    ...paces.map((pace) => {
      const values = (runs.get(pace) ?? []).map((run, round) => of(run, round, pace))
      return values.every((value) => value !== undefined) ? spreadText(spreadOf(values)) : ''
    }),
  ]
  const polled =
    (of: (run: MixedRun, alone: MixedRun | undefined) => number) => (run: MixedRun, round: number, pace: number) =>
      pace === 0 ? undefined : of(run, runs.get(0)?.[round])
  /** What a thousand requests add to what writer and probes take alone in the same round. */
  const perThousand = (of: (run: MixedRun) => number) =>
    polled((run, alone) => {
      const without = alone === undefined ? 0 : (of(alone) / alone.seconds) * run.seconds
      return (1_000 * (of(run) - without)) / run.asked
    })
  return [
    {
      title: 'Mixed load: what it was, and what it cost',
      header: ['', ...paces.map(atPace)],
      rows: [
        line(
          'requests/s of the polling teams',
          polled(({ asked, seconds }) => asked / seconds),
        ),
        line('changes/s written', ({ written, seconds }) => written / seconds),
        line(
          'conditional, % of the requests',
          polled(({ conditional, asked }) => (100 * conditional) / asked),
        ),
        line(
          '304, % of the conditional',
          polled((run) => (100 * run.unchanged) / run.conditional),
        ),
        line(
          'API, CPU s per 1,000 requests',
          perThousand((run) => run.apiCpuSeconds),
        ),
        line(
          'Elasticsearch, CPU s per 1,000 requests',
          perThousand((run) => run.elasticsearchCpuSeconds),
        ),
        line('API, CPU s a second, all in all', (run) => run.apiCpuSeconds / run.seconds),
        line('Elasticsearch, CPU s a second, all in all', (run) => run.elasticsearchCpuSeconds / run.seconds),
        line('API, resident MiB', ({ residentBytes }) => residentBytes / mebibyte),
        line('client busy, %', ({ busyShare }) => 100 * busyShare),
        line('client late by, ms, p99', ({ lateMs }) => lateMs),
        ['failed requests', ...paces.map((pace) => String(failed(runs.get(pace) ?? [])))],
      ],
    },
    ...failuresIn(runs),
  ]
}

/** What failed, and how often; no table when nothing did. */
function failuresIn(runs: MixedRuns): Counts[] {
  const times = new Map<string, number>()
  for (const [pace, own] of runs)
    for (const [what, count] of own.flatMap(({ failures }) => Object.entries(failures))) {
      const label = `${atPace(pace)}: ${what}`
      times.set(label, (times.get(label) ?? 0) + count)
    }
  if (times.size === 0) return []
  return [
    {
      title: 'Mixed load: what failed',
      header: ['', 'times'],
      rows: [...times].map(([label, count]) => [label, String(count)]),
    },
  ]
}
