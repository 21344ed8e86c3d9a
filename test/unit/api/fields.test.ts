import * as fc from 'fast-check'
import { fieldsParameter, pickFields, selectedFields } from '../../../src/api/fields.ts'
import { servedSubmissionSummary } from '../../../src/core/model/submission.ts'

const pick = (fields: string, row: string, served = servedSubmissionSummary): string =>
  String(pickFields(selectedFields(fields, served))(Buffer.from(row)))

const row =
  '{"id":"s1","examinee":{"id":"m1","email":"a@b.c"},"metadata":null,"data":{"q.1":1.0e1,"2":[1, 2],"__proto__":"x","":0},"result":{"score":80.10,"level":null}}'

test.each([
  ['id', '{"id":"s1"}'],
  ['result.score,id', '{"result":{"score":80.10},"id":"s1"}'],
  ['examinee.email,result.level,examinee.id', '{"examinee":{"email":"a@b.c","id":"m1"},"result":{"level":null}}'],
  ['result,result.score', '{"result":{"score":80.10,"level":null}}'],
  ['result.score,result', '{"result":{"score":80.10,"level":null}}'],
  ['metadata.utmSource', '{"metadata":null}'],
  ['data.q.1,data.__proto__,data.', '{"data":{"q.1":1.0e1,"__proto__":"x","":0}}'],
  ['data.2,data', '{"data":{"q.1":1.0e1,"2":[1, 2],"__proto__":"x","":0}}'],
  ['data.unanswered', '{"data":{}}'],
  ['id,id', '{"id":"s1"}'],
])('fields=%s keeps these members, digit for digit', (fields, expected) => {
  expect(pick(fields, row)).toBe(expected)
})

test.each(['', 'id,', 'ID', 'result.', 'result.summary', 'id.x', 'reportResult', 'examinee.customData.x', 'toString'])(
  'fields=%j names no field of a list',
  (fields) => {
    expect(() => selectedFields(fields, servedSubmissionSummary)).toThrow('fields must be names of fields')
  },
)

test('an item without a selection of fields stays as it is', () => {
  const given = Buffer.from(row)
  expect(pickFields(selectedFields(undefined, servedSubmissionSummary))(given)).toBe(given)
})

test('at most a hundred fields can be selected', () => {
  const some = (count: number) => Array.from({ length: count }, (_, at) => `data.${at}`).join()
  expect(selectedFields(some(100), servedSubmissionSummary)).toHaveLength(1)
  expect(() => selectedFields(some(101), servedSubmissionSummary)).toThrow('at most 100')
  // Other programs get the pattern.
  const pattern = new RegExp(String(fieldsParameter(servedSubmissionSummary).fields.meta()?.['pattern']))
  expect([pattern.test(some(100)), pattern.test(some(101))]).toEqual([true, false])
})

test('any selection of answers equals a filter of the parsed object', () => {
  const codes = fc.string({ unit: 'grapheme' }).filter((code) => !code.includes(','))
  fc.assert(
    fc.property(
      fc.dictionary(codes, fc.jsonValue()),
      fc.array(codes, { minLength: 1, maxLength: 5 }),
      (data, named) => {
        const some = [...named, ...Object.keys(data).slice(0, 2)]
        const found = JSON.parse(pick(some.map((code) => `data.${code}`).join(), JSON.stringify({ id: 1, data })))
        const expected = Object.entries(JSON.parse(JSON.stringify(data)) as object).filter(([code]) =>
          some.includes(code),
        )
        expect(new Map(Object.entries(found.data as object))).toEqual(new Map(expected))
        expect(Object.keys(found as object)).toEqual(['data'])
      },
    ),
  )
})
