import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type BarGroup, renderBarChart } from './chart.ts'
import { describeMachine } from './machine.ts'
import { judge, type Samples, type Section } from './report.ts'
import { alignedTable, renderGoals, renderTable } from './table.ts'

/** Figures that are counted once, not measured in rounds. */
export type Counts = {
  readonly title: string
  readonly header: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

/** What a bench has found, and how. */
export type Results = {
  readonly title: string
  /** What was measured and what to know when reading it, a line each. */
  readonly about: readonly string[]
  readonly versions: readonly string[]
  readonly sections: readonly Section[]
  readonly samples: Samples
  readonly counts?: readonly Counts[]
}

/** Prints the table, and writes it with all that belongs to it as `<day>-<name>.md` and `.svg` to `folder`. */
export async function publish(name: string, results: Results, folder: string): Promise<void> {
  const { title, about, versions, sections, samples, counts = [] } = results
  const file = `${new Date().toISOString().slice(0, 10)}-${name}`
  const table = renderTable(sections, samples)
  const goals = renderGoals(sections, samples)
  const counted = counts.map((each) => `## ${each.title}\n\n${alignedTable(each.header, each.rows)}`)
  const items = (lines: readonly string[]): string => lines.map((line) => `- ${line}\n`).join('')
  const page = [
    `# ${title}\n`,
    table,
    `![${title}](${file}.svg)\n`,
    `## Targets\n\n${goals}`,
    ...counted,
    `## How it was measured\n\n${items(about)}`,
    `## On what\n\n${items(await describeMachine(versions))}`,
  ]
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${file}.md`), page.join('\n'))
  await writeFile(
    join(folder, `${file}.svg`),
    renderBarChart(
      title,
      sections.map((section) => barsOf(section, samples)),
    ),
  )
  process.stdout.write(
    `\n${[table, goals, ...counted].join('\n')}\nWritten to ${join(folder, `${file}.md`)} and .svg\n`,
  )
}

function barsOf({ title, measure, rows }: Section, samples: Samples): BarGroup {
  const isLatency = measure === 'latency'
  return {
    title,
    unit: isLatency ? 'median latency in ms' : 'answers a second',
    bars: rows
      .map((row) => judge(row, measure, samples))
      .map(({ label, p50Ms, perSecond }) => ({ label, value: isLatency ? p50Ms : perSecond })),
  }
}
