import fc from 'fast-check'
import { cellOf } from '../../../../src/api/csv.ts'
import { anyText } from '../../../support/anyText.ts'
import { asWritten, csvRows, runnablePieces } from '../../../support/csv.ts'

const formulas = fc.constantFrom(...`=+-@＝＋－＠' ;,"\t\r\n\0\\`, '\r\n', '1', 'A1')
/** Text that tries to run: separators, quotes and formulas in any order. */
const attack = fc.array(formulas, { maxLength: 12 }).map((pieces) => pieces.join(''))
const text = fc.oneof(
  anyText,
  attack,
  fc.tuple(attack, anyText, attack).map((pieces) => pieces.join('')),
)

test.each([
  ['=1+2";=1+2', `"'=1+2"";'=1+2"`],
  ['one\n\ntwo; three', '"one\n\ntwo; three"'],
  ['a = b - c, d@e', '"a = b - c, d@e"'],
])('the text %j, which a spreadsheet could run, is the cell %s', (value, cell) => {
  expect(cellOf(JSON.stringify(value))).toBe(cell)
})

test.each([
  ['{"10":1.0,"2":"\\u00e9"}', '"{""10"":1.0,""2"":""\\u00e9""}"'],
  ['{"a":"x;=1; +2;\'@3;＝4;5"}', '"{""a"":""x;\\u003d1; \\u002b2;\'\\u00403;\\uff1d4;5""}"'],
])('the JSON %s is the cell %s', (raw, cell) => {
  expect(cellOf(raw)).toBe(cell)
})

test('any text is read back unchanged once the quotes against formulas are removed', () => {
  fc.assert(
    fc.property(text, (value) => {
      const [[cell] = []] = csvRows(`${cellOf(JSON.stringify(value))}\r\n`)
      expect(cell?.isQuoted).toBe(true)
      expect(asWritten(cell?.text ?? '')).toBe(value.toWellFormed())
    }),
    { numRuns: 2_000 },
  )
})

test('no cell is a formula, also for a reader with another separator', () => {
  fc.assert(
    fc.property(
      text.chain((value) => fc.constantFrom<unknown>(value, { [value]: [value] })),
      (value) => {
        const [[cell] = []] = csvRows(`${cellOf(JSON.stringify(value))}\r\n`)
        expect(runnablePieces(cell?.text ?? '')).toEqual([])
        expect(cell?.text).not.toMatch(/^[\t\r\n\0]/)
      },
    ),
    { numRuns: 2_000 },
  )
})

test.each([' ', "'", ';', '\n', '\t', '=', ';=', '"'])('a cell of a million times %j is made quickly', (piece) => {
  const value = piece.repeat(1_000_000)
  expect(cellOf(JSON.stringify(value)).length).toBeGreaterThan(1_000_000)
  expect(cellOf(JSON.stringify([value])).length).toBeGreaterThan(1_000_000)
})

test('an object stays JSON of the same value, in the same order and with the same digits', () => {
  const value = fc.dictionary(text, fc.oneof(text, fc.constant(null)), { noNullPrototype: true })
  fc.assert(
    fc.property(value, (object) => {
      const raw = JSON.stringify(object)
      const [[cell] = []] = csvRows(`${cellOf(raw)}\r\n`)
      expect(JSON.stringify(JSON.parse(cell?.text ?? ''))).toBe(raw)
    }),
  )
})
