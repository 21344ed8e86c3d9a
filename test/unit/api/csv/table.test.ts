import fc from 'fast-check'
import { answerCodes, csvTable } from '../../../../src/api/csv.ts'
import { rawMembers, renderObject } from '../../../../src/core/json/rawJson.ts'
import { servedSubmissionSummary } from '../../../../src/core/model/submission.ts'
import { anyText } from '../../../support/anyText.ts'
import { csvRecords, csvRows, expectCell } from '../../../support/csv.ts'

const common = ['id', 'serialNumber', 'formId', 'shareToken', 'reportUrl', 'submittedAt', 'updatedAt']
const examinee = ['id', 'examineeId', 'email', 'name', 'customData'].map((name) => `examinee.${name}`)
const utm = ['utmSource', 'utmMedium', 'utmCampaign', 'utmTerm', 'utmContent']
const metadata = [...utm, 'referrer'].map((name) => `metadata.${name}`)
const result = ['status', 'score', 'maxScore', 'level', 'outcomeCode', 'outcomeName'].map((name) => `result.${name}`)

const cellsOf = (row: string): string[] => csvRows(row)[0]?.map(({ text }) => text) ?? []
const fieldsAsForm = (fields: unknown): Buffer => Buffer.from(JSON.stringify({ id: 'f', fields, report: null }))

test('the columns of submissions are the members of their summary, with nested names after a dot', () => {
  const columns = [...common, ...examinee, ...metadata, 'data', ...result]
  expect(cellsOf(csvTable(servedSubmissionSummary).header)).toEqual(columns)
})

test('each answer code has a column; other answers share one column, which is empty for rows without any', () => {
  const table = csvTable(['id', 'data'], ['q1', 'q2'])
  const row = (data: string): string[] => cellsOf(table.row(Buffer.from(`{"id":"s1","data":${data}}`)))
  expect(cellsOf(table.header)).toEqual(['id', 'data.q1', 'data.q2', 'data.other'])
  expect(row('{"q2":"b","q1":1.0}')).toEqual(['s1', '1.0', 'b', ''])
  expect(row('{"q3":"c","q1":"a","q4":null}')).toEqual(['s1', 'a', '', '{"q3":"c","q4":null}'])
  expect(row('null')).toEqual(['s1', '', '', ''])
  expect(cellsOf(table.row(Buffer.from('{"id":"s1"}')))).toEqual(['s1', '', '', ''])
})

const json = fc.jsonValue().map((value) => JSON.stringify(value))
const numbers = fc.constantFrom('-5', '-0.0', '12345678901234567890.10', '1E+2', '0.10000000000000000555')
const raw = fc.oneof(
  anyText.map((value) => JSON.stringify(value)),
  numbers,
  fc.constantFrom('null', 'true'),
  json,
)
const membersOf = (names: readonly string[], value: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.tuple(...names.map((name) => fc.option(value).map((some) => [name, some ?? 'null'] as const))).map(renderObject)
const nested = (names: readonly string[]): fc.Arbitrary<string> => {
  const inner = names.map((name) => name.split('.')[1] ?? '')
  return fc.oneof(fc.constant('null'), membersOf(inner, raw))
}
const known = ['q1', 'q2', '7', 'a.b']
const summary = fc
  .tuple(
    membersOf(common, raw),
    nested(examinee),
    nested(metadata),
    membersOf([...known, 'other', 'unknown'], raw),
    nested(result),
  )
  .map(([plain, ...objects]) =>
    renderObject([
      ...rawMembers(plain),
      ...['examinee', 'metadata', 'data', 'result'].map((name, at) => [name, objects[at]] as const),
    ]),
  )

/** What stands at a path of names in a summary, as raw JSON. */
const rawAt = (text: string, [name = '', ...inner]: readonly string[]): string | undefined => {
  const found = rawMembers(text).get(name)
  return inner.length === 0 || found === undefined ? found : rawAt(found, inner)
}

const pathOf = (column: string): string[] => {
  const [first = '', ...rest] = column.split('.')
  return rest.length === 0 ? [first] : [first, rest.join('.')]
}

const answersBeside = (codes: readonly string[], text: string): string | undefined => {
  const others = [...rawMembers(rawMembers(text).get('data') ?? 'null')].filter(([code]) => !codes.includes(code))
  return others.length === 0 ? undefined : renderObject(others)
}

test.each([{ codes: undefined }, { codes: [] }, { codes: known }])(
  'with the answer codes $codes, every cell has the value of the summary',
  ({ codes }) => {
    const rawOf = (text: string, column: string): string | undefined =>
      codes !== undefined && column === 'data.other' ? answersBeside(codes, text) : rawAt(text, pathOf(column))
    const table = csvTable(servedSubmissionSummary, codes)
    fc.assert(
      fc.property(fc.array(summary, { maxLength: 4 }), (summaries) => {
        const records = csvRecords(table.header + summaries.map((each) => table.row(Buffer.from(each))).join(''))
        expect(records).toHaveLength(summaries.length)
        for (const [at, record] of records.entries())
          for (const [column, cell] of Object.entries(record)) expectCell(cell, rawOf(summaries[at] ?? '', column))
      }),
      { numRuns: 300 },
    )
  },
)

describe('answer codes', () => {
  test('are those of the fields in their order, each once, nested fields included', () => {
    const fields = [
      { code: 'q2', options: [{ code: 'no' }] },
      { type: 'page_break' },
      { code: 'group', fields: [{ code: 'q1' }, { fields: [{ code: '10' }] }] },
      { code: 'q2' },
      ...[null, 'x', 5, [{ code: 'in a list' }], { code: 7 }, { code: null }],
      { code: '' },
    ]
    expect(answerCodes(fieldsAsForm(fields))).toEqual(['q2', 'group', 'q1', '10', ''])
  })

  test.each([null, 'text', 5, {}, [], [{ code: 'other' }]])('are none when `fields` is %j', (fields) => {
    expect(answerCodes(fieldsAsForm(fields))).toEqual([])
  })

  test('are none for a form without fields', () => {
    expect(answerCodes(Buffer.from('{"id":"f"}'))).toEqual([])
  })

  test('become at most a thousand columns', () => {
    const fields = Array.from({ length: 1_001 }, (_, index) => ({ code: `q${index}` }))
    expect(answerCodes(fieldsAsForm(fields))).toHaveLength(1_000)
  })
})
