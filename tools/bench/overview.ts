import { join } from 'node:path'
import { type BarGroup, renderBarChart } from './chart.ts'
import { type Finding, judge, type Section, type Verdict, verdictsOf } from './report.ts'
import { bodyOf, onWhat, type Results, today, write } from './results.ts'
import type { Spread } from './statistics.ts'
import { alignedTable, goalText, medianText, number, spreadText, targetCells, verdictText } from './table.ts'

/** Results by the name of their bench. */
export type NamedResults = ReadonlyMap<string, Results>

const title = 'All figures'
const header = ['bench', 'figure', 'target', 'measured', '']

/** Prints one table of everything, and writes it with the pages of all as `<day>.md` and `.svg` to `folder`. */
export async function publishTogether(all: NamedResults, folder: string): Promise<void> {
  const file = today()
  const overview = renderOverview(all)
  const versions = new Set([...all.values()].flatMap((results) => results.versions))
  const page = [
    `# ${title}\n`,
    overview,
    `![What is measured, as a share of what the target allows](${file}.svg)\n`,
    ...[...all].flatMap(([name, results]) => [
      `## ${name}: ${results.title}\n`,
      ...bodyOf(results, `${file}-${name}`, '###'),
    ]),
    await onWhat([...versions]),
  ]
  const chart = renderBarChart('Measured, as a share of what the target allows: up to 1 is met', sharesOf(all))
  await write(join(folder, file), page.join('\n'), chart)
  process.stdout.write(`\n${overview}\nWritten to ${join(folder, `${file}.md`)} and .svg\n`)
}

/** Every figure of every bench in one Markdown table: what it has to be, what it is, and whether it is met. */
export function renderOverview(all: NamedResults): string {
  const body = [...all].flatMap(([name, { sections, samples, verdicts = [] }]) => [
    ...sections.flatMap(({ title: of, measure, rows }) =>
      rows.map((row) => [name, ...rowOf(of, judge(row, measure, samples), measure)]),
    ),
    ...verdicts.map((verdict) => [
      name,
      verdict.figure,
      goalText(verdict.goal),
      `${textOf(verdict.measured)} ${verdict.unit}`,
      verdictText(verdict.isMet),
    ]),
  ])
  return alignedTable(header, body, 2)
}

function rowOf(of: string, finding: Finding, measure: Section['measure']): string[] {
  const { label, p50Ms, p99Ms, perSecond, within, ratio } = finding
  const latencies = within === undefined || p99Ms === undefined ? '' : `, p99 ${spreadText(p99Ms)} ms`
  const isLatency = measure === 'latency' && p50Ms !== undefined
  const absolute = isLatency ? `${spreadText(p50Ms)} ms${latencies}` : `${spreadText(perSecond)} a second`
  const measured = ratio === undefined ? absolute : `${number(ratio.spread.median)} × ${ratio.to}, ${absolute}`
  const [target, verdict] = targetCells(finding)
  return [`${of}: ${label}`, target, measured, verdict]
}

const textOf = (measured: Spread): string =>
  measured.min === measured.max ? medianText(measured) : spreadText(measured)

/** Each figure that has a target, all of them on one scale. */
function sharesOf(all: NamedResults): BarGroup[] {
  const groups = [...all].flatMap(([name, { sections, samples, verdicts = [] }]) => [
    ...sections.map((section) =>
      groupOf(`${name}: ${section.title}`, verdictsOf([section], samples), `${section.title}: `),
    ),
    groupOf(name, verdicts, ''),
  ])
  const longest = Math.max(...groups.flatMap(({ bars }) => bars.map(({ value }) => value.max)))
  return groups.filter(({ bars }) => bars.length > 0).map((group) => ({ ...group, longest }))
}

/** The bars of `verdicts`, without what all of their figures begin with. */
function groupOf(title: string, verdicts: readonly Verdict[], beginning: string): BarGroup {
  const bars = verdicts.flatMap((verdict) => {
    const value = shareOf(verdict)
    return value === undefined ? [] : [{ label: verdict.figure.slice(beginning.length), value }]
  })
  return { title, unit: 'share of the target', bars }
}

/** What was measured as a share of what the target allows, up to 1 when it is met; undefined for a target of nothing at all. */
export function shareOf({
  goal,
  measured: { median, min, max },
}: Pick<Verdict, 'goal' | 'measured'>): Spread | undefined {
  if ('atLeast' in goal) {
    const { atLeast } = goal
    return { median: atLeast / median, min: atLeast / max, max: atLeast / min }
  }
  const { atMost } = goal
  return atMost === 0 ? undefined : { median: median / atMost, min: min / atMost, max: max / atMost }
}
