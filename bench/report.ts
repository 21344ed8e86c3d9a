import type { Sample } from './load/generator.ts'
import { ratiosByRound, type Spread, spreadOf } from './statistics.ts'

/** What a ratio has to be. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number }

/** One line: a contender, and what it is held against. */
export type Row = {
  readonly label: string
  /** Name of the contender, and of the one that its ratio is to. */
  readonly of: string
  readonly to?: { readonly label: string; readonly of: string; readonly goal?: Goal }
}

export type Section = {
  readonly title: string
  /** Whether ratios are of median latencies, or of answers a second. */
  readonly measure: 'latency' | 'throughput'
  readonly rows: readonly Row[]
}

/** By the contender's name, what each round brought. */
export type Samples = ReadonlyMap<string, readonly Sample[]>

export type Finding = {
  readonly label: string
  readonly p50Ms: Spread
  readonly p99Ms: Spread
  readonly perSecond: Spread
  /** Fewest of any round. */
  readonly turns: number
  /** Highest of any round, 0 to 1. */
  readonly busyShare: number
  readonly ratio?: { readonly to: string; readonly spread: Spread; readonly goal?: Goal; readonly isMet?: boolean }
}

/** A figure that has to be something, and whether it is. */
export type Verdict = {
  readonly figure: string
  readonly measured: Spread
  /** What follows the number, such as `× page 1`. */
  readonly unit: string
  readonly goal: Goal
  readonly isMet: boolean
}

/** Holds the median of a figure against its goal. */
export const verdictOn = (figure: Omit<Verdict, 'isMet'>): Verdict => ({
  ...figure,
  isMet: meets(figure.measured.median, figure.goal),
})

/** Of every row that has a goal. */
export const verdictsOf = (sections: readonly Section[], samples: Samples): Verdict[] =>
  sections.flatMap(({ title, measure, rows }) =>
    rows.flatMap((row) => {
      const { label, ratio } = judge(row, measure, samples)
      if (ratio?.goal === undefined) return []
      const { spread, to, goal } = ratio
      return [verdictOn({ figure: `${title}: ${label}`, measured: spread, unit: `× ${to}`, goal })]
    }),
  )

/** A row over all rounds; its ratio is the median of the ratios of each round. Throws when a contender was not measured. */
export function judge({ label, of, to }: Row, measure: Section['measure'], samples: Samples): Finding {
  const own = samplesOf(samples, of)
  const spread = (value: (sample: Sample) => number): Spread => spreadOf(own.map(value))
  const finding = {
    label,
    p50Ms: spread(({ p50Ms }) => p50Ms),
    p99Ms: spread(({ p99Ms }) => p99Ms),
    perSecond: spread(({ perSecond }) => perSecond),
    turns: Math.min(...own.map(({ turns }) => turns)),
    busyShare: Math.max(...own.map(({ busyShare }) => busyShare)),
  }
  if (to === undefined) return finding
  const figure = (sample: Sample): number => (measure === 'latency' ? sample.p50Ms : sample.perSecond)
  const ratio = spreadOf(ratiosByRound(own.map(figure), samplesOf(samples, to.of).map(figure)))
  const { goal } = to
  const judged = goal === undefined ? {} : { goal, isMet: meets(ratio.median, goal) }
  return { ...finding, ratio: { to: to.label, spread: ratio, ...judged } }
}

const meets = (value: number, goal: Goal): boolean => ('atMost' in goal ? value <= goal.atMost : value >= goal.atLeast)

function samplesOf(samples: Samples, name: string): readonly Sample[] {
  const found = samples.get(name)
  if (found === undefined) throw new Error(`${name} was not measured`)
  return found
}
