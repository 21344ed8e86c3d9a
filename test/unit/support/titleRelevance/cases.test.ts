import { readCases } from '../../../support/titleRelevance/cases.ts'
import { readGroups } from '../../../support/titleRelevance/groups.ts'

const head = 'title\tquery\texpected\twhy\n'
const setHead = 'titles of the team\tquery\texpected titles\twhy\n'

test('a row of one title is a team of that title', () => {
  expect(readCases('f.tsv', `${head}Math Quiz\t math\\n \tyes\tas it stands\nA | B\tc\tno\tabsent\n`)).toEqual([
    { place: 'f.tsv:2', titles: ['Math Quiz'], query: ' math\\n ', expected: ['Math Quiz'], why: 'as it stands' },
    { place: 'f.tsv:3', titles: ['A | B'], query: 'c', expected: [], why: 'absent' },
  ])
})

test('a row of a set is a team of its titles', () => {
  expect(readCases('s.tsv', `${setHead}A | B | C\tq\tC | A\ttwo\nA | B\tq\t\tnone\n`)).toEqual([
    { place: 's.tsv:2', titles: ['A', 'B', 'C'], query: 'q', expected: ['C', 'A'], why: 'two' },
    { place: 's.tsv:3', titles: ['A', 'B'], query: 'q', expected: [], why: 'none' },
  ])
})

test.each([
  ['another header', 'title\tquery\n', 'f.tsv:1: is no known header'],
  ['nothing at all', '', 'f.tsv:1: is no known header'],
  ['no rows', head, 'f.tsv:1: has no rows below'],
  ['a last line that is cut', `${head}A\tq\tyes\tw`, 'f.tsv:2: does not end with a line feed'],
  ['an empty line', `${head}\nA\tq\tyes\tw\n`, 'f.tsv:2: has not four columns'],
  ['a column too few', `${head}A\tq\tyes\n`, 'f.tsv:2: has not four columns'],
  ['a column too many', `${head}A\tq\tyes\tw\tx\n`, 'f.tsv:2: has not four columns'],
  ['a carriage return', `${head}A\tq\tyes\tw\r\n`, 'f.tsv:2: holds a carriage return'],
  ['an empty title', `${setHead}A | \tq\tA\tw\n`, 'f.tsv:2: has an empty title'],
  ['a title twice', `${setHead}A | A\tq\tA\tw\n`, 'f.tsv:2: has a title twice'],
  ['an empty query', `${head}A\t\tyes\tw\n`, 'f.tsv:2: has no query of 1 to 200 characters'],
  ['a query that the API refuses', `${head}A\t${'q'.repeat(201)}\tyes\tw\n`, 'f.tsv:2: has no query of 1 to 200'],
  ['a half answer', `${head}A\tq\tmaybe\tw\n`, 'f.tsv:2: expects neither yes nor no'],
  ['a title from elsewhere', `${setHead}A | B\tq\tC\tw\n`, 'f.tsv:2: expects a title that the team does not have'],
  ['a title expected twice', `${setHead}A | B\tq\tA | A\tw\n`, 'f.tsv:2: expects a title twice'],
  ['no reason', `${head}A\tq\tyes\t\n`, 'f.tsv:2: does not say why'],
  ['the same twice', `${head}A\tq\tyes\tw\nB\tq\tyes\tw\nA\tq\tno\tw\n`, 'f.tsv:4: asks what a row above asks'],
])('%s is an error that names file and line', (_what, text, message) => {
  expect(() => readCases('f.tsv', text)).toThrow(message)
})

test('every row of the data can be read', () => {
  expect(readGroups().map(({ name, cases }) => [name, cases.length > 100])).toEqual([
    ['given', true],
    ['own', true],
  ])
})
