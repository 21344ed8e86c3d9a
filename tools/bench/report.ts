import { ratiosByRound, type Spread, spreadOf } from './statistics.ts'

/** What a ratio has to be. */
export type Goal = { readonly atMost: number } | { readonly atLeast: number }

/** One line: a contender, and what it is held against. */
export type Row = {
  readonly label: string
  /** Name of the contender, and of the one that its ratio is to. */
  readonly of: string
  readonly to?: { readonly label: string; readonly of: string; readonly goal?: Goal }
  /** What its own latencies are not to exceed. */
  readonly within?: Limits
}

export type Limits = { readonly p50Ms: number; readonly p99Ms: number }

export type Section = {
  readonly title: string
  /** Whether ratios are of median latencies, of answers a second, or of records a second. */
  readonly measure: 'latency' | 'throughput' | 'records'
  readonly rows: readonly Row[]
  /** What belongs here and could not be measured, with the reason. */
  readonly unmeasured?: readonly string[]
}

/** What one round of a contender brought; there are no latencies where nobody is answered. */
export type Figures = {
  readonly perSecond: number
  readonly turns: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  readonly busyShare?: number
}

/** By the contender's name, what each round brought. */
export type Samples = ReadonlyMap<string, readonly Figures[]>

export type Finding = {
  readonly label: string
  readonly p50Ms?: Spread
  readonly p99Ms?: Spread
  readonly perSecond: Spread
  /** Fewest of any round. */
  readonly turns: number
  /** Highest of any round, 0 to 1. */
  readonly busyShare?: number
  readonly within?: Limits & { readonly isMet: boolean }
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

/** Of every row that has a goal or limits. */
export const verdictsOf = (sections: readonly Section[], samples: Samples): Verdict[] =>
  sections.flatMap(({ title, measure, rows }) =>
    rows.flatMap((row) => {
      const { label, ratio, within, p50Ms, p99Ms } = judge(row, measure, samples)
      const figure = `${title}: ${label}`
      const limit = (name: string, measured: Spread | undefined, atMost: number | undefined): Verdict[] =>
        measured === undefined || atMost === undefined
          ? []
          : [verdictOn({ figure: `${figure}, ${name}`, measured, unit: 'ms', goal: { atMost } })]
      const limits = [...limit('p50', p50Ms, within?.p50Ms), ...limit('p99', p99Ms, within?.p99Ms)]
      if (ratio?.goal === undefined) return limits
      return [verdictOn({ figure, measured: ratio.spread, unit: `× ${ratio.to}`, goal: ratio.goal }), ...limits]
    }),
  )

/** A row over all rounds; its ratio is the median of the ratios of each round. Throws when a contender was not measured. */
export function judge({ label, of, to, within }: Row, measure: Section['measure'], samples: Samples): Finding {
  const own = samplesOf(samples, of)
  const known = (value: (figures: Figures) => number | undefined): number[] =>
    own.map(value).filter((each) => each !== undefined)
  const [p50s, p99s] = [known(({ p50Ms }) => p50Ms), known(({ p99Ms }) => p99Ms)]
  const busyShares = known(({ busyShare }) => busyShare)
  const finding = {
    label,
    ...(p50s.length > 0 && { p50Ms: spreadOf(p50s) }),
    ...(p99s.length > 0 && { p99Ms: spreadOf(p99s) }),
    perSecond: spreadOf(own.map(({ perSecond }) => perSecond)),
    turns: Math.min(...own.map(({ turns }) => turns)),
    ...(busyShares.length > 0 && { busyShare: Math.max(...busyShares) }),
  }
  const isWithin = (limits: Limits): boolean =>
    (finding.p50Ms?.median ?? Number.NaN) <= limits.p50Ms && (finding.p99Ms?.median ?? Number.NaN) <= limits.p99Ms
  const limited = within === undefined ? finding : { ...finding, within: { ...within, isMet: isWithin(within) } }
  if (to === undefined) return limited
  const figure = ({ p50Ms = Number.NaN, perSecond }: Figures): number => (measure === 'latency' ? p50Ms : perSecond)
  const ratio = spreadOf(ratiosByRound(own.map(figure), samplesOf(samples, to.of).map(figure)))
  const { goal } = to
  const judged = goal === undefined ? {} : { goal, isMet: meets(ratio.median, goal) }
  return { ...limited, ratio: { to: to.label, spread: ratio, ...judged } }
}

const meets = (value: number, goal: Goal): boolean => ('atMost' in goal ? value <= goal.atMost : value >= goal.atLeast)

function samplesOf(samples: Samples, name: string): readonly Figures[] {
  const found = samples.get(name)
  if (found === undefined) throw new Error(`${name} was not measured`)
  return found
}
