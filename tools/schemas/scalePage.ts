import '../../docs/scale/inputs.js'
import '../../docs/scale/scale.js'
import type { Inputs } from '../../docs/scale/inputs.js'
import type { Scale } from '../../docs/scale/scale.js'

declare global {
  /** What the scripts of docs/scale define. */
  var tidemarkInputs: Inputs
  var tidemarkScale: Scale
}

type Line = readonly string[]

const tableOf = ([header = [], ...lines]: readonly Line[]): string =>
  [header, header.map((_, at) => (at === 0 ? '---' : '---:')), ...lines]
    .map((line) => `| ${line.join(' | ')} |`)
    .join('\n')

function costLines(): readonly Line[] {
  const { assumptions, costs, machines } = globalThis.tidemarkInputs
  const shown = (value: number): string => value.toLocaleString('en-US', { maximumSignificantDigits: 4 })
  const { listBytes, detailBytes, recordBytes, pageBytes } = assumptions
  return [
    ['', ...machines.map(({ date }) => date)],
    ...Object.values(costs).map(({ label, values }) => [label, ...values.map(shown)]),
    ...[listBytes, detailBytes, recordBytes, pageBytes].map(({ label, value }) => [
      `${label}, bytes`,
      shown(value),
      '',
    ]),
  ]
}

const sizes = [10e6, 100e6, 1_000e6]

function resultLines(): readonly Line[] {
  const { assumptions, machines, numbersOf } = globalThis.tidemarkInputs
  const { rowsOf, textOf } = globalThis.tidemarkScale
  const rows = Object.values(rowsOf({ members: assumptions.members.value, shares: assumptions.shares.value })).flat()
  return [
    ['', ...sizes.map((submissions) => textOf('number', [submissions]))],
    ...rows
      .filter(({ weight }) => weight !== 'minor')
      .map(({ name, kind, of, weight }) => [
        weight === 'main' ? `**${name}**` : name,
        ...sizes.map((submissions) =>
          textOf(
            kind,
            machines.map((_, machine) => of(numbersOf(submissions, machine))),
          ),
        ),
      ]),
  ]
}

/** `docs/scale.md` with the costs and results of `docs/scale`. Throws unless the page has a place for each. */
export function scalePage(page: string): string {
  const tables = { costs: costLines(), results: resultLines() }
  return Object.entries(tables).reduce((text, [name, lines]) => {
    const place = new RegExp(`(?<=<!-- scale ${name} -->).*?(?=<!-- end of scale ${name} -->)`, 's')
    if (!place.test(text)) throw new Error(`docs/scale.md has no place for its ${name}`)
    return text.replace(place, () => `\n\n${tableOf(lines)}\n\n`)
  }, page)
}
