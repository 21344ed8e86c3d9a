import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A search text, and the titles of a team that it should find. */
export type RelevanceCase = {
  /** File and line. */
  readonly place: string
  /** All titles of the team. */
  readonly titles: readonly string[]
  readonly query: string
  readonly expected: readonly string[]
  readonly why: string
}

/** Cases that are evaluated together. */
export type CaseGroup = { readonly name: string; readonly cases: readonly RelevanceCase[] }

const filesOf = {
  given: ['title-relevance.tsv', 'title-relevance-sets.tsv'],
  own: ['title-relevance-more.tsv', 'title-relevance-more-sets.tsv'],
}

/** The rows given by the specification, and the project's own, which add scripts and pitfalls. */
export const readGroups = (): CaseGroup[] =>
  Object.entries(filesOf).map(([name, files]) => ({ name, cases: files.flatMap(readFile) }))

/** Reads tab-separated rows with one or several titles, as the header says. Nothing is escaped or trimmed. */
function readFile(name: string): RelevanceCase[] {
  const bytes = readFileSync(fileURLToPath(new URL(`../../data/${name}`, import.meta.url)))
  const [header, ...rows] = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    .decode(bytes)
    .trimEnd()
    .split('\n')
  const isSet = header?.startsWith('titles of the team\t') === true
  return rows.map((row, index) => {
    const place = `test/data/${name}:${index + 2}`
    const [title = '', query = '', answer = '', why = '', ...more] = row.split('\t')
    const titles = isSet ? title.split(' | ') : [title]
    const expected = isSet ? answer.split(' | ').filter((part) => part !== '') : answer === 'yes' ? titles : []
    const isRow = query !== '' && why !== '' && more.length === 0 && (isSet || /^(yes|no)$/.test(answer))
    if (!isRow || expected.some((wanted) => !titles.includes(wanted))) throw new Error(`${place} is no row`)
    return { place, titles, query, expected, why }
  })
}
