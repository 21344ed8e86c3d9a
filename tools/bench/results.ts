import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type BarGroup, renderBarChart } from './chart.ts'
import { describeMachine } from './machine.ts'
import { judge, type Samples, type Section, type Verdict, verdictsOf } from './report.ts'
import { alignedTable, renderGoals, renderTable } from './table.ts'

/** Figures that are counted once, not measured in rounds. */
export type Counts = {
  readonly title: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** Figures that belong together. */
export type Part = {
  readonly sections: readonly Section[]
  readonly samples: Samples
  readonly counts?: readonly Counts[]
  /** Beside those of the sections. */
  readonly verdicts?: readonly Verdict[]
}

/** What a bench has found, and how. */
export type Results = Part & {
  readonly title: string
  /** What was measured and what to know when reading it, a line each. */
  readonly about: readonly string[]
  readonly versions: readonly string[]
}

/** Several parts as one. */
export const joined = (parts: readonly Part[]): Required<Part> => ({
  sections: parts.flatMap(({ sections }) => sections),
  samples: new Map(parts.flatMap(({ samples }) => [...samples])),
  counts: parts.flatMap(({ counts = [] }) => counts),
  verdicts: parts.flatMap(({ verdicts = [] }) => verdicts),
})

/** Every target of a part. */
export const allVerdicts = ({ sections, samples, verdicts = [] }: Part): Verdict[] => [
  ...verdictsOf(sections, samples),
  ...verdicts,
]

/** The day on which results are written. */
export const today = (): string => new Date().toISOString().slice(0, 10)

/** Prints the table, and writes it with all that belongs to it as `<day>-<name>.md` and `.svg` to `folder`. */
export async function publish(name: string, results: Results, folder: string): Promise<void> {
  const { title, versions, sections, samples } = results
  const file = `${today()}-${name}`
  const page = [`# ${title}\n`, ...bodyOf(results, file, '##'), await onWhat(versions)]
  const bars = sections.map((section) => barsOf(section, samples))
  await write(join(folder, file), page.join('\n'), renderBarChart(title, bars))
  process.stdout.write(`\n${figuresOf(results, '##').join('\n')}\nWritten to ${join(folder, `${file}.md`)} and .svg\n`)
}

/** All of a page but its title and the machine; `chart` is the name of its chart. */
export function bodyOf(results: Results, chart: string, heading: '##' | '###'): string[] {
  const [table = '', ...others] = figuresOf(results, heading)
  return [
    table,
    `![${results.title}](${chart}.svg)\n`,
    ...others,
    `${heading} How it was measured\n\n${items(results.about)}`,
  ]
}

/** What was measured on, as the end of a page. */
export const onWhat = async (versions: readonly string[]): Promise<string> =>
  `## On what\n\n${items(await describeMachine(versions))}`

/** Writes a page and its chart, at a path without an ending. */
export async function write(path: string, page: string, chart: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await writeFile(`${path}.md`, page)
  await writeFile(`${path}.svg`, chart)
}

/** The table, the targets, and whatever was counted. */
function figuresOf(results: Results, heading: string): string[] {
  const { sections, samples, counts = [] } = results
  return [
    renderTable(sections, samples),
    `${heading} Targets\n\n${renderGoals(allVerdicts(results))}`,
    ...counts.map((each) => `${heading} ${each.title}\n\n${alignedTable(each.header, each.rows)}`),
  ]
}

const items = (lines: readonly string[]): string => lines.map((line) => `- ${line}\n`).join('')

const units = {
  latency: 'median latency in ms',
  throughput: 'answers a second',
  records: 'records a second',
} as const

function barsOf({ title, measure, rows }: Section, samples: Samples): BarGroup {
  return {
    title,
    unit: units[measure],
    bars: rows
      .map((row) => judge(row, measure, samples))
      .map(({ label, p50Ms, perSecond, ratio }) => ({
        label,
        value: measure === 'latency' ? (p50Ms ?? perSecond) : perSecond,
        ...(measure === 'records' &&
          ratio !== undefined && { note: `${Math.round(100 * ratio.spread.median)} % of ${ratio.to}` }),
      })),
  }
}
