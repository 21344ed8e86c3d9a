import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, release, totalmem, type } from 'node:os'
import { dirname, join, relative } from 'node:path'
import type { Counts, Results, Spread } from './report.ts'
import { type Finding, type Goal, isSignificant, judge, type Samples, type Section, type Verdict } from './report.ts'

const gibibyte = 1024 ** 3

/** `folder`: of the page with all figures. `summary`: a file for brief tables. `versions`: of the engines. */
export type Place = { readonly folder: string; readonly summary?: string; readonly versions: readonly string[] }

/**
 * Prints the tables of a bench, and writes them to `folder` as `<day>-<name>.md`. Brief forms of the `compared` tables, and a link to all figures,
 * replace the block of this name in `summary`.
 */
export async function publish(name: string, results: Results, { folder, summary, versions }: Place): Promise<void> {
  const file = `${new Date().toISOString().slice(0, 10)}-${name}`
  const tables = tablesOf(results)
  const machine = [await machineText(), ...versions].join('; ')
  const page = [`# ${results.title}`, results.about, `Measured on: ${machine}.`, ...tables]
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, `${file}.md`), `${page.map((part) => part.trimEnd()).join('\n\n')}\n`)
  if (summary !== undefined) {
    const about = `${results.about} [All figures](${relative(dirname(summary), join(folder, `${file}.md`))}).`
    const { sections, samples, counts = [], compared } = results
    const isCompared = ({ title }: { readonly title: string }): boolean => compared.some((part) => title.includes(part))
    const brief = sections.filter(isCompared).map((section) => briefOf(section, samples))
    const block = [about, ...brief, ...counts.filter(isCompared).map(countsTable)].join('\n\n')
    await writeFile(summary, replaceBlock(await readFile(summary, 'utf8'), name, block))
  }
  process.stdout.write(`\n${tables.join('\n')}\nWritten to ${join(folder, `${file}.md`)}\n`)
}

const tablesOf = ({ sections, samples, counts = [] }: Results): string[] => [
  ...sections.map((section) => `## ${section.title}\n\n${renderSection(section, samples)}`),
  ...counts.map(countsTable),
]

const countsTable = ({ title, header, rows }: Counts): string => `**${title}**\n\n${alignedTable(header, rows)}`

async function machineText(): Promise<string> {
  const about = await readFile('/etc/os-release', 'utf8').catch(() => '')
  const system = /^PRETTY_NAME="(.*)"$/m.exec(about)?.[1] ?? 'unknown system'
  const memory = `${Math.round(totalmem() / gibibyte)} GiB of memory`
  const processor = `${cpus()[0]?.model ?? 'unknown CPU'}, ${availableParallelism()} cores`
  return `${processor}, ${memory}; ${system}, ${type()} ${release()}; Node ${process.versions.node}`
}

const header = [
  ...['', 'p50 ms', 'p99 ms', 'a second', 'in a round', 'client busy'],
  ...['CPU µs an answer', "Elasticsearch's", 'ratio (min–max)', 'target', ''],
]

const renderSection = ({ measure, rows }: Section, samples: Samples): string =>
  alignedTable(
    header,
    rows.map((row) => cellsOf(judge(row, measure, samples), measure)),
  )

/** Between the comments with its name. Throws if the text has no such comments. */
export function replaceBlock(text: string, name: string, block: string): string {
  const begin = `<!-- bench ${name} -->`
  const from = text.indexOf(begin)
  const to = text.indexOf(`<!-- end of bench ${name} -->`)
  if (from === -1 || to < from) throw new Error(`the page has no place for the bench ${name}`)
  return `${text.slice(0, from + begin.length)}\n\n${block.trimEnd()}\n\n${text.slice(to)}`
}

/** A section in brief: the figure, ratio and verdict of each row. */
function briefOf({ title, measure, rows }: Section, samples: Samples): string {
  const isLatency = measure === 'latency'
  const body = rows.map((row) => {
    const finding = judge(row, measure, samples)
    const figure = isLatency ? finding.p50Ms : finding.perSecond
    const [ratio = '', target, verdict] = cellsOf(finding, measure).slice(-3)
    return [finding.label, number(figure?.median ?? Number.NaN), ratio, [target, verdict].filter(Boolean).join(', ')]
  })
  return `**${title}**\n\n${alignedTable(['', isLatency ? 'p50 ms' : 'a second', 'ratio (min–max)', 'target'], body)}`
}

/** Markdown. All columns but the first have figures. */
function alignedTable(header: readonly string[], body: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) => Math.max(name.length, 3, ...body.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]): string =>
    `| ${widths.map((width, column) => (cells[column] ?? '')[column === 0 ? 'padEnd' : 'padStart'](width)).join(' | ')} |\n`
  const rule = widths.map((width, column) => (column === 0 ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`))
  return [header, rule, ...body].map(line).join('')
}

function cellsOf(finding: Finding, measure: Section['measure']): string[] {
  const { label, perSecond, count, busyShare, ratio, verdict } = finding
  const isRate = measure !== 'latency'
  const shown = (spread: Spread | undefined): string => (spread === undefined ? '' : spreadText(spread))
  return [
    label,
    shown(finding.p50Ms),
    shown(finding.p99Ms),
    isRate ? spreadText(perSecond) : '',
    String(count),
    isRate && busyShare !== undefined ? `${Math.round(busyShare * 100)} %` : '',
    shown(finding.serverCpuUs),
    shown(finding.elasticsearchCpuUs),
    ratio === undefined
      ? ''
      : `${isSignificant(ratio.spread) ? spreadText(ratio.spread) : rangeText(ratio.spread)} × ${ratio.to}`,
    targetText(finding),
    verdict === undefined ? '' : verdictTexts[verdict],
  ]
}

const verdictTexts: Readonly<Record<Verdict, string>> = { met: 'met', missed: '**MISSED**', open: 'rounds disagree' }

const targetText = ({ goal, limits }: Finding): string =>
  [goal && goalText(goal), limits && `p50 ≤ ${limits.p50Ms}, p99 ≤ ${limits.p99Ms} ms`].filter(Boolean).join(', ')
const goalText = (goal: Goal): string => ('atMost' in goal ? `≤ ${goal.atMost}` : `≥ ${goal.atLeast}`)

export const spreadText = ({ median, min, max }: Spread): string => `${number(median)} (${number(min)}–${number(max)})`

const rangeText = ({ min, max }: Spread): string => `${number(min)}–${number(max)}`

/** Three significant digits, or all digits before the decimal point. */
export const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))
