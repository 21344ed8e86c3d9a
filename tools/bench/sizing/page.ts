import { sizesFor } from './arithmetic.ts'
import { type Assumptions, assumptionNames } from './assumptions.ts'
import { figuresOf } from './figures.ts'

const begin = '<!-- written by `npm run sizing` -->'
const end = '<!-- /written -->'

/** First and second cells of every line of a table. */
const cellsIn = (text: string): Map<string, string> =>
  new Map(
    text.split('\n').flatMap((line) => {
      const [, name, value] = line.split('|').map((cell) => cell.trim())
      return name === undefined || value === undefined ? [] : [[name, value] as const]
    }),
  )

const numberOf = (cell: string | undefined): number => Number(cell?.replaceAll(',', '') || Number.NaN)

/** The values in the page's table of assumptions. Throws when one is missing or no number. */
export function readAssumptions(page: string): Assumptions {
  const values = cellsIn(page)
  const entries = Object.entries(assumptionNames).map(([word, name]) => {
    const value = numberOf(values.get(name))
    if (!Number.isFinite(value)) throw new Error(`there is no number for "${name}"`)
    return [word, value] as const
  })
  return Object.fromEntries(entries) as Assumptions
}

/** The same page with what was measured: the values that the results name as the page does. Throws when they name none. */
export function withMeasured(page: string, results: string): string {
  const values = cellsIn(results)
  const measured = Object.values(assumptionNames).filter((name) => Number.isFinite(numberOf(values.get(name))))
  if (measured.length === 0) throw new Error('the results hold nothing for the page')
  return measured.reduce((text, name) => {
    const [before = '', after = ''] = text.split(`| ${name} | `)
    return `${before}| ${name} | ${values.get(name)}${after.slice(after.indexOf(' |'))}`
  }, page)
}

/** The same page with the sizes that follow from its assumptions. Throws when it has no place for them. */
export function withSizes(page: string): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)]
  if (from === -1 || to < from) throw new Error('the page has no place for the sizes')
  const figures = figuresOf(sizesFor(readAssumptions(page)))
  const rows = figures.map((figure) => `| ${figure.what} | ${figure.value} | ${figure.from} |\n`)
  const table = `\n\n| | | follows from |\n|---|---|---|\n${rows.join('')}\n`
  return page.slice(0, from + begin.length) + table + page.slice(to)
}
