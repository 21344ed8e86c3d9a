export type Goal = { readonly atMost: number } | { readonly atLeast: number }

type Limits = { readonly p50Ms: number; readonly p99Ms: number }

export type Row = {
  readonly label: string
  /** The names of the contender and of the base of its ratio. */
  readonly of: string
  readonly to?: { readonly label: string; readonly of: string; readonly goal?: Goal }
  readonly limits?: Limits
}

export type Section = {
  readonly title: string
  readonly measure: 'latency' | 'answers a second' | 'records a second' | 'rows a second' | 'server CPU'
  readonly rows: readonly Row[]
}

/** One round of a contender. Latencies are undefined for a contender without requests. */
export type Figures = {
  readonly perSecond: number
  readonly count: number
  readonly p50Ms?: number
  readonly p99Ms?: number
  /** Share of time in which the load generator was busy, 0 to 1. Near 1, the generator was measured rather than the server. */
  readonly busyShare?: number
  /** For each answer; undefined without `/proc`. */
  readonly serverCpuUs?: number | undefined
  readonly elasticsearchCpuUs?: number | undefined
}

export type Samples = ReadonlyMap<string, readonly Figures[]>

export type Counts = {
  readonly title: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

export type Results = {
  readonly title: string
  readonly about: string
  readonly sections: readonly Section[]
  readonly samples: Samples
  readonly counts?: readonly Counts[]
  /** Parts of the titles of the tables that a user compares first: `docs/performance.md` shows these tables. */
  readonly compared: readonly string[]
}

export type Finding = {
  readonly label: string
  readonly p50Ms: Spread | undefined
  readonly p99Ms: Spread | undefined
  readonly perSecond: Spread
  /** The lowest number of any round. */
  readonly count: number
  /** The highest value of any round, 0 to 1. */
  readonly busyShare: number | undefined
  readonly serverCpuUs: Spread | undefined
  readonly elasticsearchCpuUs: Spread | undefined
  readonly ratio: { readonly to: string; readonly spread: Spread } | undefined
  readonly goal: Goal | undefined
  readonly limits: Limits | undefined
  /** Undefined without goal and limits. */
  readonly verdict: Verdict | undefined
}

export type Verdict = 'met' | 'missed' | 'open'

/** The ratio is the median of the ratios of the rounds. Throws if a contender was not measured. */
export function judge({ label, of, to, limits }: Row, measure: Section['measure'], samples: Samples): Finding {
  const own = samplesOf(samples, of)
  const p50Ms = knownSpread(own, ({ p50Ms }) => p50Ms)
  const p99Ms = knownSpread(own, ({ p99Ms }) => p99Ms)
  const figure = (figures: Figures): number => {
    if (measure === 'latency') return figures.p50Ms ?? Number.NaN
    return measure === 'server CPU' ? (figures.serverCpuUs ?? Number.NaN) : figures.perSecond
  }
  const ratio = to && {
    to: to.label,
    spread: spreadOf(ratiosByRound(own.map(figure), samplesOf(samples, to.of).map(figure))),
  }
  const verdicts = [
    ...(limits ? [verdictOn(p50Ms, { atMost: limits.p50Ms }), verdictOn(p99Ms, { atMost: limits.p99Ms })] : []),
    ...(ratio && to?.goal ? [verdictOn(ratio.spread, to.goal)] : []),
  ]
  return {
    label,
    p50Ms,
    p99Ms,
    perSecond: spreadOf(own.map(({ perSecond }) => perSecond)),
    count: Math.min(...own.map(({ count }) => count)),
    busyShare: knownSpread(own, ({ busyShare }) => busyShare)?.max,
    serverCpuUs: knownSpread(own, ({ serverCpuUs }) => serverCpuUs),
    elasticsearchCpuUs: knownSpread(own, ({ elasticsearchCpuUs }) => elasticsearchCpuUs),
    ratio,
    goal: to?.goal,
    limits,
    verdict: verdicts.length > 0 ? worstOf(verdicts) : undefined,
  }
}

const meets = (value: number, goal: Goal): boolean => ('atMost' in goal ? value <= goal.atMost : value >= goal.atLeast)

/** A goal is met or missed only if all rounds agree. */
function verdictOn({ min, max }: Spread = nothing, goal: Goal): Verdict {
  const first = meets(min, goal)
  const second = meets(max, goal)
  return first === second ? (first ? 'met' : 'missed') : 'open'
}
const nothing: Spread = { median: Number.NaN, min: Number.NaN, max: Number.NaN }

const worstOf = (verdicts: readonly Verdict[]): Verdict =>
  (['missed', 'open'] as const).find((verdict) => verdicts.includes(verdict)) ?? 'met'

/** The rounds differ less from each other than their median differs from 1. */
export const isSignificant = ({ median, min, max }: Spread): boolean => max - min < Math.abs(median - 1)

function knownSpread(samples: readonly Figures[], value: (figures: Figures) => number | undefined): Spread | undefined {
  const known = samples.map(value).filter((figure) => figure !== undefined)
  return known.length === 0 ? undefined : spreadOf(known)
}

function samplesOf(samples: Samples, name: string): readonly Figures[] {
  const figures = samples.get(name)
  if (figures === undefined) throw new Error(`${name} was not measured`)
  return figures
}

export type Spread = { readonly median: number; readonly min: number; readonly max: number }

/** The smallest of `values` that is not below the share `rank` (above 0, up to 1) of them. Throws without values. */
export function percentile(values: readonly number[], rank: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  const value = sorted[Math.ceil(rank * sorted.length) - 1]
  if (value === undefined) throw new Error('nothing was measured')
  return value
}

export function spreadOf(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const low = sorted[(sorted.length - 1) >> 1]
  const high = sorted[sorted.length >> 1]
  const min = sorted.at(0)
  const max = sorted.at(-1)
  if (low === undefined || high === undefined || min === undefined || max === undefined)
    throw new Error('nothing was measured')
  return { median: (low + high) / 2, min, max }
}

/** Ratios by round, because other load on the machine has affected both sides. */
function ratiosByRound(of: readonly number[], base: readonly number[]): number[] {
  if (of.length !== base.length) throw new Error('both sides of a ratio belong to the same rounds')
  return of.map((value, round) => value / (base[round] ?? Number.NaN))
}
