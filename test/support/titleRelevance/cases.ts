/** What somebody types, and which titles of a team they mean by it. */
export type RelevanceCase = {
  /** File and line. */
  readonly place: string
  /** All titles of the team. */
  readonly titles: readonly string[]
  readonly query: string
  readonly expected: readonly string[]
  readonly why: string
}

const titleHeader = 'title\tquery\texpected\twhy'
const setHeader = 'titles of the team\tquery\texpected titles\twhy'
const titleSeparator = ' | '

/**
 * Reads a file of tab-separated rows, of one title each or of several, as its first line says. Nothing is escaped or trimmed.
 * Throws an error that names file and line when anything is not as it should be.
 */
export function readCases(file: string, text: string): RelevanceCase[] {
  const refuse = (line: number, problem: string): never => {
    throw new Error(`${file}:${line}: ${problem}`)
  }
  const [header, ...rows] = text.split('\n')
  if (header !== titleHeader && header !== setHeader) refuse(1, 'is no known header')
  if (rows.pop() !== '') refuse(rows.length + 2, 'does not end with a line feed')
  if (rows.length === 0) refuse(1, 'has no rows below')
  const seen = new Set<string>()
  return rows.map((row, index) => {
    const line = index + 2
    const { titles, query, expected, why, problem } = judgeRow(row, header === setHeader)
    if (problem !== undefined) refuse(line, problem)
    const asked = JSON.stringify([titles, query])
    if (seen.has(asked)) refuse(line, 'asks what a row above asks')
    seen.add(asked)
    return { place: `${file}:${line}`, titles, query, expected, why }
  })
}

type JudgedRow = Omit<RelevanceCase, 'place'> & { readonly problem: string | undefined }

function judgeRow(row: string, isSet: boolean): JudgedRow {
  const cells = row.split('\t')
  const [title = '', query = '', answer = '', why = ''] = cells
  const titles = isSet ? title.split(titleSeparator) : [title]
  const expected = isSet ? splitExpected(answer) : answer === 'yes' ? titles : []
  const rules: readonly [boolean, string][] = [
    [cells.length !== 4, 'has not four columns'],
    [row.includes('\r'), 'holds a carriage return'],
    [titles.includes(''), 'has an empty title'],
    [new Set(titles).size < titles.length, 'has a title twice'],
    [query === '' || [...query].length > 200, 'has no query of 1 to 200 characters'],
    [!isSet && answer !== 'yes' && answer !== 'no', 'expects neither yes nor no'],
    [expected.some((each) => !titles.includes(each)), 'expects a title that the team does not have'],
    [new Set(expected).size < expected.length, 'expects a title twice'],
    [why === '', 'does not say why'],
  ]
  return { titles, query, expected, why, problem: rules.find(([isBroken]) => isBroken)?.[1] }
}

const splitExpected = (answer: string): string[] => (answer === '' ? [] : answer.split(titleSeparator))
