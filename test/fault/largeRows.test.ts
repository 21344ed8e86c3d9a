import { hash } from 'node:crypto'
import {
  type Ask,
  bystanderWays,
  formAt,
  type LargeTeam,
  openLargeStage,
  type Received,
  submissionAt,
} from '../abuse/largeRows.ts'
import { useStarted } from '../support/lifecycle.ts'
import { startSmallElasticsearch } from '../support/ownEngines.ts'
import { killPrograms } from '../support/programs.ts'

const mebibyte = 1024 * 1024
/** The API's container has 512 MiB. */
const boundBytes = 512 * mebibyte
const processes = 2

const [ndjson, csv] = ['application/x-ndjson', 'text/csv']

const times = (count: number, ask: (at: number) => Ask): readonly Ask[] =>
  Array.from({ length: count }, (_, at) => ask(at))
const exportsOf = (path: string, rows: number): readonly Ask[] => [
  { path, accept: ndjson, rows },
  { path, accept: csv, rows },
]
const submissionsOf = (count: number, bytes: number) => {
  const text = 'x'.repeat(bytes)
  return Array.from({ length: count }, (_, at) => submissionAt(at, { data: { q: text } }))
}

const megabyteRows: LargeTeam = {
  name: '100-submissions-of-0.9-MB',
  submissions: submissionsOf(100, 900_000),
  asksOf: () => [
    ...times(12, (at) => ({ path: `/records?limit=50&page=${1 + (at % 2)}`, rows: 50 })),
    ...exportsOf('/records', 100),
  ],
}

const largestRows: LargeTeam = {
  name: '5-submissions-of-9.9-MB',
  submissions: submissionsOf(5, 9_900_000),
  asksOf: () => [...times(8, () => ({ path: '/records?limit=100', rows: 5 })), ...exportsOf('/records', 5)],
}

const largestDetails: LargeTeam = {
  name: '10-single-submissions-of-9.9-MB',
  submissions: submissionsOf(10, 9_900_000),
  asksOf: (process) => times(12, (at) => ({ path: `/records/s${(process * 12 + at) % 10}`, rows: 1 })),
}

const titles = 2_000
const wordsOfTitle = 200
const fieldForms = 100
/** Words of four to eight letters from g to v; each is in a tenth of the titles. */
const words = Array.from({ length: 2_000 }, (_, at) =>
  hash('sha1', String(at))
    .slice(0, 4 + (at % 5))
    .replace(/./g, (digit) => 'ghijklmnopqrstuv'[Number.parseInt(digit, 16)] ?? ''),
)
const titleOf = (form: number): string =>
  Array.from({ length: wordsOfTitle }, (_, at) => words[(form + at) % words.length]).join(' ')
const longWord = (at: number): string => words[4 + 5 * at] ?? ''
const misspelt = (word: string): string => `${word.slice(0, 3)}z${word.slice(4)}`
const fields = Array.from({ length: 5_000 }, (_, at) => ({
  code: `q${at}`,
  type: 'text',
  title: `Question ${at}: ${'why '.repeat(20)}`,
}))

const longTitles: LargeTeam = {
  name: '2000-forms-of-200-words',
  forms: [
    ...Array.from({ length: titles }, (_, at) => formAt(at, { title: titleOf(at) })),
    ...Array.from({ length: fieldForms }, (_, at) => formAt(titles + at, { fields })),
  ],
  submissions: Array.from({ length: 1_000 }, (_, at) => submissionAt(at, { formId: `s${at}` })),
  asksOf: (process) => [
    ...times(8, (at) => ({ path: `/forms?limit=100&page=${1 + at}`, rows: 100 })),
    ...times(4, (at) => ({
      path: `/forms?titleContains=${misspelt(longWord(4 * process + at))}&limit=100`,
      rows: 100,
    })),
    ...times(4, (at) => ({ path: `/forms?titleContains=${longWord(100 + 4 * process + at)}&limit=100`, rows: 100 })),
    ...times(4, (at) => ({ path: `/record-counts?by=form&since=2025-01-0${1 + at}`, rows: 0 })),
    { path: '/forms?view=full', accept: ndjson, rows: titles + fieldForms },
    { path: '/forms', accept: csv, rows: titles + fieldForms },
  ],
}

const longAnswers: LargeTeam = {
  name: '10000-different-answers-of-256-characters',
  submissions: Array.from({ length: 10_000 }, (_, at) =>
    submissionAt(at, {
      data: { open: `${'漢'.repeat(250)}${10_000 + at}` },
      result: { status: 'completed', score: at },
    }),
  ),
  asksOf: (process) =>
    times(10, (at) => ({ path: `/record-counts?by=answer&code=open&minScore=-${process}.${10 + at}`, rows: 0 })),
}

const teams = [megabyteRows, largestRows, largestDetails, longTitles, longAnswers]

useStarted('Elasticsearch', startSmallElasticsearch)
const stage = useStarted('the stage', () => openLargeStage(processes))
afterAll(killPrograms)

/** A count may take longer than five seconds where the machine has too much to do. */
const isLate = ({ ask, status }: Received): boolean => status === 503 && ask.path.startsWith('/record-counts')

/** Exports are whole, and other answers whole or not yet. */
const isForeseen = (received: Received): boolean => {
  const { ask, status, rows, isWhole } = received
  const isLater = isLate(received) || (status === 429 && ask.accept === undefined)
  return isWhole && ((status === 200 && rows === ask.rows) || isLater)
}

test.each(teams)(
  'a team requests $name from two processes at once: it gets complete answers or 429, and other teams are answered meanwhile',
  async (team) => {
    await stage.fill(team)
    const { received, watched } = await stage.ask(team)
    expect(received.filter((each) => !isForeseen(each))).toEqual([])
    for (const { bystander, peakBytes } of watched) {
      expect(Object.keys(bystander)).toEqual(['200'])
      // Whoever waits until the team has all of its answers gets two in each way at most: one before, one after them.
      expect(bystander['200']).toBeGreaterThan(2 * bystanderWays)
      expect(Math.max(...peakBytes)).toBeLessThan(boundBytes)
    }
    for (const ask of team.asksOf(0).slice(0, 1))
      expect(await stage.askAlone(team, ask)).toMatchObject({ status: 200, rows: ask.rows, isWhole: true })
  },
)
