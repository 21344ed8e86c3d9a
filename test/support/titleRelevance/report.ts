import { type Failure, type Figures, failuresOf, figuresOf, type Verdict } from './figures.ts'

/** A table of figures, by script and total, followed by all titles missed or wrongly found. */
export function renderReport(name: string, verdicts: readonly Verdict[]): string {
  const lines = [...figuresByScript(verdicts), ['in all', figuresOf(verdicts)] as const].map(([script, figures]) =>
    cellsOf(script, figures),
  )
  const table = [[`${name} rows`, 'rows', 'recall', 'precision'], ...lines].map(renderLine)
  return [...table, '', ...failuresOf(verdicts).map(renderFailure)].join('\n')
}

/** A line for one unexpected result. */
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

/** Figures by script of titles and queries, scripts with most cases first. */
function figuresByScript(verdicts: readonly Verdict[]): [script: string, figures: Figures][] {
  const byScript = Map.groupBy(verdicts, ({ relevanceCase: { titles, query } }) =>
    scriptOf([...titles, query].join(' ')),
  )
  return [...byScript]
    .map(([script, some]): [string, Figures] => [script, figuresOf(some)])
    .sort(([a, { rows: aRows }], [b, { rows: bRows }]) => bRows - aRows || a.localeCompare(b, 'en'))
}

const scripts = [
  ...['Latin', 'Greek', 'Cyrillic', 'Armenian', 'Georgian', 'Hebrew', 'Arabic'],
  ...['Devanagari', 'Bengali', 'Tamil', 'Thai', 'Han', 'Hiragana', 'Katakana', 'Hangul'],
]
const patterns = scripts.map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const)
/** Letters that identify a script, unlike those shared by several, such as the Japanese long mark. */
const tellingLetters = /[^\P{L}\p{Script=Common}\p{Script=Inherited}]/gu

/**
 * The script of a text: its Unicode name; `Kana` for Japanese, with or without Han; `symbols` without letters; `other` for scripts
 * that are not distinguished here; else `mixed`.
 */
function scriptOf(text: string): string {
  const scriptsOfText = new Set((text.match(tellingLetters) ?? []).map(scriptOfLetter))
  if (scriptsOfText.has('Kana')) scriptsOfText.delete('Han')
  const [script = 'symbols', ...more] = scriptsOfText
  return more.length === 0 ? script : 'mixed'
}

function scriptOfLetter(letter: string): string {
  const name = patterns.find(([, pattern]) => pattern.test(letter))?.[0] ?? 'other'
  return name === 'Hiragana' || name === 'Katakana' ? 'Kana' : name
}
