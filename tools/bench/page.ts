import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { renderChart } from './chart.ts'
import type { Results } from './report.ts'
import { alignedTable, renderSection } from './table.ts'

const gibibyte = 1024 ** 3

/**
 * Prints the tables of a bench, and writes them with their chart to `folder`, as `<day>-<name>.md` and `.svg`. `versions` are those
 * of the engines.
 */
export async function publish(
  name: string,
  results: Results,
  { folder, versions }: { readonly folder: string; readonly versions: readonly string[] },
): Promise<void> {
  const file = `${new Date().toISOString().slice(0, 10)}-${name}`
  const tables = tablesOf(results)
  const machine = [await machineText(), ...versions].join('; ')
  const page = [
    `# ${results.title}`,
    results.about,
    `Measured on: ${machine}.`,
    `![${results.title}](${file}.svg)`,
    ...tables,
  ]
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${file}.md`), `${page.map((part) => part.trimEnd()).join('\n\n')}\n`)
  await writeFile(join(folder, `${file}.svg`), renderChart(results))
  process.stdout.write(`\n${tables.join('\n')}\nWritten to ${join(folder, `${file}.md`)} and .svg\n`)
}

/** Every section and every table of figures, each with its heading. */
const tablesOf = ({ sections, samples, counts = [] }: Results): string[] => [
  ...sections.map((section) => `## ${section.title}\n\n${renderSection(section, samples)}`),
  ...counts.map(({ title, header, rows }) => `## ${title}\n\n${alignedTable(header, rows)}`),
]

async function machineText(): Promise<string> {
  const about = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const system = /^PRETTY_NAME="(.*)"$/m.exec(about)?.[1] ?? 'unknown system'
  const memory = `${Math.round(totalmem() / gibibyte)} GiB of memory`
  const processor = `${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores`
  return `${processor}, ${memory}; ${system}, ${type()} ${release()}; Node ${process.versions.node}`
}
