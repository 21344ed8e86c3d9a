import { type Finding, type Goal, judge, type Limits, type Samples, type Section, type Verdict } from './report.ts'
import type { Spread } from './statistics.ts'

const header = ['', 'p50 ms', 'p99 ms', 'a second', 'in a round', 'client busy', 'ratio (min–max)', 'target', '']

/** All sections as one Markdown table that reads well as it stands. */
export function renderTable(sections: readonly Section[], samples: Samples): string {
  const body = sections.flatMap(({ title, measure, rows, unmeasured = [] }) => [
    wordsAlone(`**${title}**`),
    ...rows.map((row) => cellsOf(judge(row, measure, samples), measure)),
    ...unmeasured.map(wordsAlone),
  ])
  return alignedTable(header, body)
}

const wordsAlone = (words: string): string[] => [words, ...header.slice(1).map(() => '')]

/** A Markdown table whose columns stand below one another; the first `words` of them are of words, the others of figures. */
export function alignedTable(header: readonly string[], body: readonly (readonly string[])[], words = 1): string {
  // A section's title is let run over: it would make the first column as wide as itself.
  const widths = header.map((name, column) =>
    Math.max(
      name.length,
      ...body.map(([first = '', ...rest]) => (first.startsWith('**') ? 0 : ([first, ...rest][column]?.length ?? 0))),
    ),
  )
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => (column < words ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join(' | ')} |\n`
  const rule = widths.map((width, column) => (column < words ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [header, rule, ...body].map(line).join('')
}

/** Every target, whether it was met, and by what figure. */
export const renderGoals = (verdicts: readonly Verdict[]): string =>
  verdicts
    .map(
      ({ figure, measured, unit, goal, isMet }) =>
        `- ${isMet ? 'met' : '**missed**'}: ${figure}: ${medianText(measured)} ${unit}, target ${goalText(goal)}\n`,
    )
    .join('')

function cellsOf(finding: Finding, measure: Section['measure']): string[] {
  const { label, p50Ms, p99Ms, perSecond, turns, busyShare, ratio } = finding
  const isRate = measure !== 'latency'
  return [
    label,
    p50Ms === undefined ? '' : spreadText(p50Ms),
    p99Ms === undefined ? '' : spreadText(p99Ms),
    isRate ? spreadText(perSecond) : '',
    String(turns),
    isRate && busyShare !== undefined ? `${Math.round(busyShare * 100)} %` : '',
    ratio === undefined ? '' : `${spreadText(ratio.spread)} × ${ratio.to}`,
    ...targetCells(finding),
  ]
}

/** What a row has to be, and whether it is; both empty for one that has no target. */
export function targetCells({ ratio, within }: Pick<Finding, 'ratio' | 'within'>): [target: string, verdict: string] {
  const targets = [
    ...(ratio?.goal === undefined ? [] : [goalText(ratio.goal)]),
    ...(within === undefined ? [] : [limitsText(within)]),
  ]
  if (targets.length === 0) return ['', '']
  return [targets.join(', '), verdictText(ratio?.isMet !== false && within?.isMet !== false)]
}

export const verdictText = (isMet: boolean): string => (isMet ? 'met' : '**MISSED**')

const limitsText = ({ p50Ms, p99Ms }: Limits): string => `p50 ≤ ${p50Ms}, p99 ≤ ${p99Ms} ms`
export const goalText = (goal: Goal): string => ('atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`)
/** The median, and both ends. */
export const spreadText = ({ median, min, max }: Spread): string => `${number(median)} (${number(min)}–${number(max)})`

/** The median alone; a whole number as it is. */
export const medianText = ({ median }: Spread): string =>
  Number.isInteger(median) ? median.toLocaleString('en') : number(median)

/** Three digits that count, or all in front of the point. */
export const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))
