import { csvOf } from '../../../../src/api/pages/assets/csvText.js'
import { csvRows } from '../../../support/csv.ts'

test('a table is CSV: text is quoted, numbers keep their digits, null is empty, and lines end with CRLF', () => {
  expect(csvOf([['Value', '2026-11-29'], ['one, "two"\nthree', 1 / 3], [''], [null, 0]])).toBe(
    '"Value","2026-11-29"\r\n"one, ""two""\nthree",0.3333333333333333\r\n""\r\n,0\r\n',
  )
})

test('a name that a spreadsheet would run as a formula has a single quote before it', () => {
  const names = ['=1+2', '@x', '\tx', 'a;=1', "'=1", '＝1', 'a=1', '-5']
  const cells = csvRows(csvOf([names])).flat()
  expect(cells.map(({ text }) => text)).toEqual(["'=1+2", "'@x", "'\tx", "a;'=1", "''=1", "'＝1", 'a=1', "'-5"])
})
