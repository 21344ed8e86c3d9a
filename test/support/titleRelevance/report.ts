import { type Failure, type Figures, failuresOf, figuresByScript, figuresOf, type Verdict } from './figures.ts'

/** A table of figures by script and in all, and below it every title that was missed or wrongly found. */
export function renderReport(name: string, verdicts: readonly Verdict[]): string {
  const lines = [...figuresByScript(verdicts), ['in all', figuresOf(verdicts)] as const].map(([script, figures]) =>
    cellsOf(script, figures),
  )
  const table = [[`${name} rows`, 'rows', 'recall', 'precision'], ...lines].map(renderLine)
  return [...table, '', ...failuresOf(verdicts).map(renderFailure)].join('\n')
}

/** One title against expectation, on a line of its own. */
export const renderFailure = ({ place, title, query, isExpected, why }: Failure): string =>
  `${place}: title ${JSON.stringify(title)}, query ${JSON.stringify(query)}, expected ${isExpected ? 'yes' : 'no'} (${why})`

const cellsOf = (script: string, { rows, recall, precision }: Figures): string[] => [
  script,
  String(rows),
  recall.toFixed(3),
  precision.toFixed(3),
]

const renderLine = ([first = '', ...rest]: readonly string[]): string =>
  first.padEnd(12) + rest.map((cell) => cell.padStart(11)).join('')
