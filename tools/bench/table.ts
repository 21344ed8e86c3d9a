import { type Finding, type Goal, judge, type Samples, type Section } from './report.ts'
import type { Spread } from './statistics.ts'

const header = ['', 'p50 ms', 'p99 ms', 'a second', 'in a round', 'client busy', 'ratio (min–max)', 'target', '']

/** A section as a Markdown table that reads well as it stands. */
export const renderSection = ({ measure, rows }: Section, samples: Samples): string =>
  alignedTable(
    header,
    rows.map((row) => cellsOf(judge(row, measure, samples), measure)),
  )

/** A Markdown table whose columns stand below one another; all but the first one are of figures. */
export function alignedTable(header: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) => Math.max(name.length, 3, ...body.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? '')[column === 0 ? 'padEnd' : 'padStart'](width)).join(' | ')} |\n`
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [header, rule, ...body].map(line).join('')
}

function cellsOf(finding: Finding, measure: Section['measure']): string[] {
  const { label, p50Ms, p99Ms, perSecond, count, busyShare, ratio, isMet } = finding
  const isRate = measure !== 'latency'
  return [
    label,
    p50Ms === undefined ? '' : spreadText(p50Ms),
    p99Ms === undefined ? '' : spreadText(p99Ms),
    isRate ? spreadText(perSecond) : '',
    String(count),
    isRate && busyShare !== undefined ? `${Math.round(busyShare * 100)} %` : '',
    ratio === undefined ? '' : `${spreadText(ratio.spread)} × ${ratio.to}`,
    targetText(finding),
    isMet === undefined ? '' : isMet ? 'met' : '**MISSED**',
  ]
}

const targetText = ({ goal, limits }: Finding): string =>
  [goal && goalText(goal), limits && `p50 ≤ ${limits.p50Ms}, p99 ≤ ${limits.p99Ms} ms`].filter(Boolean).join(', ')
const goalText = (goal: Goal): string => ('atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`)

/** The median, and both ends. */
export const spreadText = ({ median, min, max }: Spread): string => `${number(median)} (${number(min)}–${number(max)})`

/** Three significant digits, or all in front of the point. */
export const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))
